// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// spareLoop adds a loop device that no other process gets, because the kernel hands out the lowest
// free number.
func spareLoop(t *testing.T) int {
	t.Helper()
	require.Root(t)
	require.Loop(t)
	n := 4000 + os.Getpid()%1000
	control, err := openControl()
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(control)
	if err := unix.IoctlSetInt(control, unix.LOOP_CTL_ADD, n); err != nil {
		t.Fatalf("add %s: %v", devPath(n), err)
	}
	t.Cleanup(func() {
		control, err := openControl()
		if err != nil {
			t.Fatal(err)
		}
		defer closeQuietly(control)
		if err := unix.IoctlSetInt(control, unix.LOOP_CTL_REMOVE, n); err != nil {
			t.Errorf("remove %s: %v", devPath(n), err)
		}
		// Removing the device removes the kernel's own node, not one that was made by hand.
		if err := os.Remove(devPath(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	return n
}

func TestMissingNodeIsMade(t *testing.T) {
	n := spareLoop(t)
	if err := os.Remove(devPath(n)); err != nil {
		t.Fatal(err)
	}
	fd, err := openLoop(n)
	if err != nil {
		t.Fatal(err)
	}
	defer closeQuietly(fd)
	var st unix.Stat_t
	if err := unix.Stat(devPath(n), &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode != unix.S_IFBLK|0o600 || unix.Major(st.Rdev) != 7 {
		t.Errorf("made a node of mode %o, device %d:%d", st.Mode, unix.Major(st.Rdev), unix.Minor(st.Rdev))
	}
}

func TestWrongNodeIsRefused(t *testing.T) {
	n := spareLoop(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/dev/null", "/dev/loop0"} {
		fd, err := openNode(path, sysPath(n, "dev"), unix.S_IFBLK, unix.O_RDWR)
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s passes for %s: %v", path, devPath(n), err)
		}
		if err == nil {
			closeQuietly(fd)
		}
	}
}

func TestDeviceWithoutFile(t *testing.T) {
	n := spareLoop(t)
	for name, dev := range map[string]string{"free": devPath(n), "absent": "/dev/loop1048575"} {
		if err := Detach(dev); !errors.Is(err, ErrNotAttached) {
			t.Errorf("detach %s device: %v", name, err)
		}
		if info, err := Inspect(dev); !errors.Is(err, ErrNotAttached) {
			t.Errorf("inspect %s device: %+v, %v", name, info, err)
		}
	}
	// The kernel's own answer, for a device that is detached between our look and our call.
	fd, err := openLoop(n)
	if err != nil {
		t.Fatal(err)
	}
	if err := clearAndClose(os.NewFile(uintptr(fd), devPath(n))); !errors.Is(err, unix.ENXIO) {
		t.Errorf("clear free device: %v", err)
	}
}
