// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A device notes when it has answered: another one may keep the look at both waiting.
func TestTimeOfTheAnswer(t *testing.T) {
	quick, silent := Device{Dir: t.TempDir()}, Device{Dir: t.TempDir()}
	path := filepath.Join(quick.Dir, statusFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	quick.ask(context.Background())
	silent.ask(context.Background())
	if quick.Status == nil || quick.Answered.Before(before) || quick.Answered.After(time.Now()) {
		t.Errorf("asked at %v, it answered at %v: %v", before, quick.Answered, quick.Err)
	}
	if silent.Status != nil || !silent.Answered.IsZero() {
		t.Errorf("without an answer: %v, %v", silent.Answered, silent.Err)
	}
}
