// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// addParts adds parts to a file and completes it, or leaves it.
func addParts(t *testing.T, f *partialFile, finish bool, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err := f.add([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if finish {
		if err := f.finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
}

// holds wants a file to have a content; "" for no file.
func holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if string(got) != want || (err != nil) != (want == "") {
		t.Errorf("%s holds %q, %v, want %q", filepath.Base(name), got, err, want)
	}
}

// A resumed file keeps the parts that it has, up to the first that differs.
func TestPartialFileIsResumed(t *testing.T) {
	for _, c := range []struct {
		left, then []string
		kept       int64
	}{
		{[]string{"head", "one", "two"}, []string{"head", "one", "two", "end"}, 10},
		{[]string{"head", "one", "tw"}, []string{"head", "one", "two", "end"}, 7},
		{[]string{"head", "one", "two", "three"}, []string{"head", "One", "two", "three"}, 4},
		{[]string{"head", "one", "longer than all"}, []string{"head", "one", "end"}, 7},
		{nil, []string{"head", "end"}, 0},
	} {
		name := filepath.Join(t.TempDir(), "file")
		f, err := newPartialFile(name, false, false)
		if err != nil {
			t.Fatal(err)
		}
		addParts(t, f, false, c.left...)
		holds(t, name, "")
		if f, err = newPartialFile(name, false, true); err != nil {
			t.Fatal(err)
		}
		addParts(t, f, true, c.then...)
		holds(t, name, strings.Join(c.then, ""))
		holds(t, name+PartialSuffix, "")
		if f.kept != c.kept {
			t.Errorf("%q after %q: %d bytes are kept, want %d", c.then, c.left, f.kept, c.kept)
		}
	}
}

// A file is written by one process at a time, over nothing that is not to be replaced.
func TestPartialFileIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	refused := func(force, resume bool, want string) {
		t.Helper()
		if f, err := newPartialFile(name, force, resume); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v, want %q", f, err, want)
		}
	}
	refused(false, true, "there is no ")
	f, err := newPartialFile(name, false, false)
	if err != nil {
		t.Fatal(err)
	}
	refused(false, false, "--resume goes on with it")
	refused(false, true, "written by another process")
	refused(true, false, "written by another process")
	addParts(t, f, false, "left")
	if f, err = newPartialFile(name, true, false); err != nil {
		t.Fatal(err)
	}
	addParts(t, f, true, "whole")
	holds(t, name, "whole")
	refused(false, false, "--force replaces it")
	if f, err = newPartialFile(name, true, false); err != nil {
		t.Fatal(err)
	}
	addParts(t, f, true, "again")
	holds(t, name, "again")
	if err := os.Symlink(name, name+PartialSuffix); err != nil {
		t.Fatal(err)
	}
	refused(true, true, "too many levels of symbolic links")
	if f, err = newPartialFile(name, true, false); err != nil {
		t.Fatal(err)
	}
	addParts(t, f, false, "left")
	holds(t, name, "again")
	holds(t, name+PartialSuffix, "left")
}

// Pages never go to a file that another user has made, may read or has by another name: --force
// makes another one, and --resume refuses.
func TestPartialFileOfOthers(t *testing.T) {
	require.Root(t)
	for what, make := range map[string]func(partial string) error{
		"belongs to another user": func(partial string) error { return os.Chown(partial, 4711, -1) },
		"mode 666, 1 names":       func(partial string) error { return os.Chmod(partial, 0o666) },
		"mode 600, 2 names":       func(partial string) error { return os.Link(partial, partial+"-link") },
	} {
		name := filepath.Join(t.TempDir(), "file")
		partial := name + PartialSuffix
		if err := os.WriteFile(partial, []byte("head"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := make(partial); err != nil {
			t.Fatal(err)
		}
		theirs, err := os.Open(partial)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := newPartialFile(name, false, true); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: resumed: %+v, %v", what, f, err)
		}
		f, err := newPartialFile(name, true, false)
		if err != nil {
			t.Fatal(err)
		}
		addParts(t, f, false, "pages")
		if text, err := io.ReadAll(theirs); err != nil || string(text) != "head" {
			t.Errorf("%s: who made the file reads %q, %v", what, text, err)
		}
		info, err := os.Lstat(partial)
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 0 || st.Nlink != 1 || info.Mode() != 0o600 {
			t.Errorf("%s: the new file has mode %v, %+v", what, info.Mode(), st)
		}
		if err := theirs.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A file appears under its name only where that is still free.
func TestPartialFileReplacesNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := newPartialFile(name, false, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(); err == nil {
		t.Error("it was replaced")
	}
	holds(t, name, "another's")
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

// A save that is killed between its two last steps leaves both names to one file, where a file
// system cannot rename to a free name alone. The next one does not empty what has the final name.
func TestPartialFileOfTwoNames(t *testing.T) {
	for _, resume := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, []byte("snapshot"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(name, name+PartialSuffix); err != nil {
			t.Fatal(err)
		}
		f, err := newPartialFile(name, true, resume)
		if resume {
			if err == nil || !strings.Contains(err.Error(), "no "+name+PartialSuffix) {
				t.Errorf("resumed: %v", err)
			}
		} else if err != nil {
			t.Fatal(err)
		} else {
			addParts(t, f, false, "new")
			holds(t, name+PartialSuffix, "new")
		}
		holds(t, name, "snapshot")
	}
}
