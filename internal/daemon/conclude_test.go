// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"testing"
)

// A worker that panics ends at once: it takes nothing apart, which could wait for what serves.
func TestPanicTakesNothingApart(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	apart := 0
	w := &worker{news: newNewsWriter(writer), logs: OpenLogs(true, t.TempDir())}
	w.undo = append(w.undo, func() error { apart++; return nil })
	func() {
		defer func() {
			if got := recover(); got != "broken" {
				t.Errorf("the panic is %v", got)
			}
		}()
		t.Error(w.conclude(func() error { panic("broken") }))
	}()
	if apart != 0 {
		t.Error("a worker that panics takes itself apart")
	}
	failed := errors.New("failed")
	if err := w.conclude(func() error { return failed }); !errors.Is(err, failed) || apart != 1 {
		t.Errorf("%v, taken apart %d times", err, apart)
	}
	if err := errors.Join(reader.Close(), writer.Close()); err != nil {
		t.Error(err)
	}
}
