// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A file of a trace takes the place of regular files alone: /dev/stdout and /dev/null stay.
func TestTraceFile(t *testing.T) {
	dir := t.TempDir()
	link, path := filepath.Join(dir, "stdout"), filepath.Join(dir, "trace.json")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	}
	if err := writeWhole(link, write); err == nil {
		t.Error("a link was written over")
	}
	if target, err := os.Readlink(link); err != nil || target != os.DevNull {
		t.Errorf("the link is now %q, %v", target, err)
	}
	for range 2 {
		if err := writeWhole(path, write); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v is left, %v", all, err)
	}
}
