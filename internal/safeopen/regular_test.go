// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// Files of every other type are refused at once: opening a pipe would wait for its writer.
func TestOtherTypes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, os.DevNull} {
		if f, err := Open(path, os.O_RDONLY); err == nil || !strings.Contains(err.Error(), path+" is no regular file") {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none"), os.O_RDONLY); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

func TestOpenMakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := OpenOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := f.WriteAt([]byte("12345"), 0); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFrom(f, 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := Read(path, 4); err == nil {
		t.Errorf("five bytes within four: %q", text)
	}
}

func TestFileOfAnotherUser(t *testing.T) {
	require.Root(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOwn(path, os.O_RDWR); err == nil || !strings.Contains(err.Error(), "belongs to another user (UID 4711)") {
		t.Errorf("%v", err)
	}
	f, err := Open(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
