// SPDX-License-Identifier: Apache-2.0

package onhost

import (
	"os"
	"path/filepath"
	"testing"
)

// An installation that fails leaves the programs that were there.
func TestPlaceFails(t *testing.T) {
	dir, source := t.TempDir(), filepath.Join(t.TempDir(), "zramfs")
	if err := os.WriteFile(source, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := place(dir, "1", []*os.File{f}); err != nil {
		t.Fatal(err)
	}
	if err := place(dir, "none/2", []*os.File{f}); err == nil {
		t.Error("no error where the directory of a version cannot be made")
	}
	text, err := os.ReadFile(filepath.Join(Programs(dir), "zramfs"))
	if string(text) != "program" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Programs of an image are installed once they are the current ones, and not where those of the
// image before are.
func TestIsCurrent(t *testing.T) {
	dir, image := t.TempDir(), t.TempDir()
	paths := []string{filepath.Join(image, "zramfs"), filepath.Join(image, "zramfsd")}
	version := func(text string) string {
		t.Helper()
		for _, path := range paths {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files, version, err := openPrograms(paths)
		if err != nil {
			t.Fatal(err)
		}
		closeFiles(files)
		return version
	}
	first, second := version("first"), version("second")
	if isCurrent(dir, first) {
		t.Error("nothing is installed")
	}
	for _, v := range []string{first, second} {
		if err := place(dir, v, nil); err != nil {
			t.Fatal(err)
		}
		if isCurrent(dir, first) != (v == first) || isCurrent(dir, second) != (v == second) {
			t.Errorf("after %s: %v, %v", v, isCurrent(dir, first), isCurrent(dir, second))
		}
	}
}
