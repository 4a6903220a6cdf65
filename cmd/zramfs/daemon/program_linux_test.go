// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/control"
)

// TestHold maps what lies on a tmpfs, and that alone.
func TestHold(t *testing.T) {
	for _, dir := range []string{"/dev/shm", "/proc/self"} {
		name := dir + "/exe"
		if dir == "/dev/shm" {
			f, err := os.CreateTemp(dir, "zramfs-hold-*")
			if err != nil {
				t.Skip(err)
			}
			name = f.Name()
			defer os.Remove(name)
			if _, err := f.Write(make([]byte, 3*os.Getpagesize()+1)); err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var fs unix.Statfs_t
		if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
			t.Fatal(err)
		}
		held, err := hold(f)
		if err != nil {
			t.Fatal(err)
		}
		if (len(held) > 0) != (fs.Type == unix.TMPFS_MAGIC) {
			t.Errorf("%s: %d bytes are held on a file system of type %#x", name, len(held), fs.Type)
		}
		p := program{file: f, held: held}
		p.close()
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s stays open: %v", name, err)
		}
	}
}

// A program that cannot be kept in memory is no program to go on with, and neither is one whose
// descriptor is gone.
func TestHoldFails(t *testing.T) {
	f, err := os.CreateTemp("/dev/shm", "zramfs-hold-*") // empty: there is nothing to map
	if err != nil {
		t.Skip(err)
	}
	defer os.Remove(f.Name())
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Skipf("/dev/shm is of type %#x: %v", fs.Type, err)
	}
	if held, err := hold(f); !errors.Is(err, unix.EINVAL) || held != nil {
		t.Errorf("an empty file: %d bytes, %v", len(held), err)
	}
	p := program{file: f}
	p.close()
	if _, err := p.again(); !errors.Is(err, unix.EBADF) {
		t.Errorf("a closed program again: %v", err)
	}
	s, r := &supervision{program: p, begun: true}, &upgradeRequest{image: &image{}, answer: make(chan control.UpgradeReport, 1)}
	s.asked(time.Time{}, r)
	if answer := <-r.answer; answer.Error == "" || !errors.Is(r.why, unix.EBADF) || s.upgrade != nil {
		t.Errorf("an upgrade to another image: %+v, %v", answer, r.why)
	}
}
