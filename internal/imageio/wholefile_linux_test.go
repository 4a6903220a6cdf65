// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// eachWholeFile runs a test in an empty directory on each file system for temporary files, with
// unnamed files where they exist, and with temporary names.
func eachWholeFile(t *testing.T, test func(t *testing.T, dir string, begin func(name string, force bool) (*wholeFile, error), unnamed bool)) {
	parents := map[string]string{"disk": os.TempDir()}
	var in unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &in); err == nil && in.Type == unix.TMPFS_MAGIC {
		parents["tmpfs"] = "/dev/shm"
	}
	for name, parent := range parents {
		dir, err := os.MkdirTemp(parent, "zramfs-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		can := err == nil
		if can {
			err = unix.Close(fd)
		} else if name == "tmpfs" || !errors.Is(err, unix.EOPNOTSUPP) {
			t.Errorf("%s: %v", dir, err)
		}
		t.Run(name, func(t *testing.T) { test(t, dir, newWholeFile, can) })
		if err := os.Remove(filepath.Join(dir, "pages")); err != nil {
			t.Error(err)
		}
		t.Run(name+", with a name", func(t *testing.T) {
			test(t, dir, func(name string, force bool) (*wholeFile, error) {
				return beginWholeFile(name, force, func(string) *os.File { return nil })
			}, false)
		})
	}
}

// wantFiles wants a directory to hold n files and the file, if any, to begin with a Text.
func wantFiles(t *testing.T, dir string, n int, text string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != n {
		t.Errorf("there are %v, %v, want %d", entries, err, n)
	}
	got, err := os.ReadFile(filepath.Join(dir, "pages"))
	if text == "" && !errors.Is(err, fs.ErrNotExist) || text != "" && (err != nil || !strings.HasPrefix(string(got), text)) {
		t.Errorf("it holds %.100q, %v, want %q", got, err, text)
	}
}

// An unfinished file leaves nothing, and a finished one has its name; it replaces a file only if
// asked to. An unnamed file leaves no trace before.
func TestWholeFile(t *testing.T) {
	eachWholeFile(t, func(t *testing.T, dir string, begin func(string, bool) (*wholeFile, error), unnamed bool) {
		name, was := filepath.Join(dir, "pages"), ""
		write := func(force, finish bool, text string) error {
			f, err := begin(name, force)
			if err != nil {
				return err
			}
			if _, err := f.WriteAt([]byte(text), 0); err != nil {
				t.Fatal(err)
			}
			there := min(len(was), 1)
			if !unnamed {
				there++
			}
			wantFiles(t, dir, there, was)
			if finish {
				err, was = f.finish(int64(len(text))+4096), text+"\x00"
			}
			err = errors.Join(err, f.close())
			wantFiles(t, dir, min(len(was), 1), was)
			return err
		}
		for _, c := range []struct {
			force, finish bool
			text          string
		}{{false, false, "one"}, {false, true, "two"}, {true, false, "three"}, {true, true, "four"}, {true, true, "five"}} {
			if err := write(c.force, c.finish, c.text); err != nil {
				t.Errorf("%s: %v", c.text, err)
			}
		}
		if err := write(false, true, "six"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v, want ErrExist", err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 || info.Size() != int64(len("five"))+4096 {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A name taken in the meantime stays with its file, and only a regular file is ever replaced. A
// leftover temporary file does not disturb.
func TestWholeFileReplacesNothing(t *testing.T) {
	eachWholeFile(t, func(t *testing.T, dir string, begin func(string, bool) (*wholeFile, error), unnamed bool) {
		name := filepath.Join(dir, "pages")
		f, err := begin(name, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("faster"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.finish(0); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v, want ErrExist", err)
		}
		if err := f.close(); err != nil {
			t.Error(err)
		}
		wantFiles(t, dir, 1, "faster")
		if _, err := begin(dir, true); !errors.Is(err, fs.ErrExist) {
			t.Errorf("directory: %v, want ErrExist", err)
		}
		if _, err := begin(filepath.Join(dir, "none", "pages"), false); err == nil || !strings.HasSuffix(err.Error(), "pages: no such directory") {
			t.Errorf("no directory: %v", err)
		}
		if _, err := begin(filepath.Join(name, "pages"), false); !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("below a file: %v, want ENOTDIR", err)
		}
	})
}

// The temporary name of a file that replaces another is free.
func TestWholeFileFindsAName(t *testing.T) {
	eachWholeFile(t, func(t *testing.T, dir string, begin func(string, bool) (*wholeFile, error), unnamed bool) {
		name := filepath.Join(dir, "pages")
		first, err := begin(name, true)
		if err != nil {
			t.Fatal(err)
		}
		second, err := begin(name, true)
		if err != nil {
			t.Fatal(err)
		}
		if unnamed {
			if err := link(second.File, temporaryName(name, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := first.WriteAt([]byte("first"), 0); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(first.finish(5), first.close()); err != nil {
			t.Error(err)
		}
		wantFiles(t, dir, 2, "first")
		if err := second.close(); err != nil {
			t.Error(err)
		}
		if unnamed {
			if err := os.Remove(temporaryName(name, 0)); err != nil {
				t.Error(err)
			}
		}
		wantFiles(t, dir, 1, "first")
	})
}

func TestWholeFileNeedsItsDirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "x")
	if _, err := newWholeFile(name, false); err == nil || err.Error() != "cannot create "+name+": no such directory" {
		t.Error(err)
	}
}
