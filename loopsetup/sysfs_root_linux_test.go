// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// A device may be detached while another command has an attribute of it open. To that command it is
// not attached, which is no failure.
func TestAttributeGoesAwayWhileItIsOpen(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	path := filepath.Join(t.TempDir(), "backing")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dev, err := Attach(path, &Config{NoDirectIO: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(sysPath(dev.number, "loop/offset"))
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := Inspect(dev.Path()); !errors.Is(err, ErrNotAttached); _, err = Inspect(dev.Path()) {
		time.Sleep(time.Millisecond)
	}
	if _, err := io.ReadAll(f); !gone(err) {
		t.Errorf("read what is detached: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
