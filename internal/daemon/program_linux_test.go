// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/require"
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
		if (len(held) > 0) != (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.OVERLAYFS_SUPER_MAGIC) {
			t.Errorf("%s: %d bytes are held on a file system of type %#x", name, len(held), fs.Type)
		}
		p := program{file: f, held: held}
		p.close()
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s stays open: %v", name, err)
		}
	}
}

// A program that an overlay has on a tmpfs is held as well.
func TestHoldOnOverlay(t *testing.T) {
	require.Root(t)
	dir, err := os.MkdirTemp("/dev/shm", "zramfs-overlay-*")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"lower", "upper", "work", "all"} {
		if err := os.Mkdir(dir+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
	if err := unix.Mount("overlay", dir+"/all", "overlay", 0, options); err != nil {
		t.Skipf("no overlay: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir+"/all", 0); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(dir+"/all/program", make([]byte, os.Getpagesize()), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := openProgram(dir + "/all/program")
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if len(p.held) != os.Getpagesize() {
		t.Errorf("%d bytes are held", len(p.held))
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

// A program that is kept in memory stays there when the device is made anew, however that ends.
func TestHeldProgramStaysHeld(t *testing.T) {
	f, err := os.CreateTemp("/dev/shm", "zramfs-hold-*")
	if err != nil {
		t.Skip(err)
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(make([]byte, os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	p := program{file: f, image: &image{}}
	if p.held, err = hold(f); err != nil || p.held == nil {
		t.Skipf("/dev/shm holds nothing: %v", err)
	}
	for _, fails := range []bool{true, false, false} {
		s := &supervision{do: &stage{t: t}, program: p, begun: true}
		s.asked(time.Time{}, &upgradeRequest{image: &image{}, answer: make(chan control.UpgradeReport, 1)})
		if fails {
			s.gone(time.Time{}, s.candidate, errors.New("no fork"), false)
		} else {
			s.handOver(time.Time{})
			s.heard(time.Time{}, s.candidate, workerMsg{Prepared: channelVersion})
			s.heard(time.Time{}, s.owner, workerMsg{Serving: true})
		}
		p = s.program
		if s.upgrade != nil || len(p.held) == 0 {
			t.Fatalf("failed: %v; %d bytes are held, and the upgrade is %v", fails, len(p.held), s.upgrade)
		}
	}
	p.close()
}
