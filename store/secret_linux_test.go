// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// backingInMemory is a file that needs no disk.
func backingInMemory() (*os.File, error) {
	fd, err := unix.MemfdCreate("backing", unix.MFD_CLOEXEC)
	return os.NewFile(uintptr(fd), "backing"), err
}

// Processes that share a key never get the same serial number, also after one of them has died.
func TestSerialsAreUnique(t *testing.T) {
	keeper, err := NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for range 3 {
		fd, err := unix.Dup(int(keeper.File().Fd()))
		if err != nil {
			t.Fatal(err)
		}
		worker, err := AdoptSecret(os.NewFile(uintptr(fd), "key"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(worker.mem[:secretKey], keeper.mem[:secretKey]) || bytes.Equal(worker.mem[:secretKey], make([]byte, secretKey)) {
			t.Error("the keys differ, or there is none")
		}
		for _, s := range []*Secret{worker, keeper, worker} {
			first := s.serials(10)
			for n := first; n < first+10; n++ {
				if seen[n] || n == 0 {
					t.Fatalf("number %d is given twice, or is 0", n)
				}
				seen[n] = true
			}
		}
		if err := worker.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := keeper.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenBackingRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(dir string, size int64) string {
		path := filepath.Join(dir, "zramfs-backing-"+filepath.Base(t.TempDir()))
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		})
		return path
	}
	used := file(dir, 1<<20)
	f, err := OpenBacking(used)
	if err != nil {
		t.Skip(err) // temporary files lie on a tmpfs here
	}
	for path, want := range map[string]syscall.Errno{
		filepath.Join(dir, "none"): syscall.ENOENT,
		dir:                        syscall.EISDIR,
		os.DevNull:                 syscall.ENOTBLK,
		file(dir, PageSize-1):      syscall.EINVAL,
		file("/dev/shm", 1<<20):    syscall.EINVAL,
		used:                       syscall.EBUSY,
	} {
		if f, err := OpenBacking(path); !errors.Is(err, ErrBacking) || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", path, f, err, want)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if f, err = OpenBacking(used); err != nil {
		t.Errorf("after it was closed: %v", err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// The key is never swapped, and is in no core dump.
func TestSecretIsProtected(t *testing.T) {
	s, err := NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, ours, found := strings.Cut(string(text), "/memfd:zramfs-key")
	_, locked, _ := strings.Cut(ours, "\nLocked:")
	_, flags, _ := strings.Cut(ours, "\nVmFlags:")
	flags, _, _ = strings.Cut(flags, "\n")
	if !found || !strings.HasPrefix(strings.TrimLeft(locked, " "), "4 kB") || !strings.Contains(flags, " dd") || !strings.Contains(flags, " lo") {
		t.Errorf("the key's mapping has the flags %q, and of it is locked %.20q", flags, locked)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
