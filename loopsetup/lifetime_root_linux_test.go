// SPDX-License-Identifier: Apache-2.0

package loopsetup_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestCloseLeavesDeviceToOtherUsers(t *testing.T) {
	path := backingFile(t)
	dev := attach(t, path, nil)
	other, err := os.Open(dev.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	if err := dev.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if devs := find(t, path); len(devs) != 1 {
		t.Errorf("the device went away under its other user: %v", devs)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	waitDetached(t, path)
}

func TestDetachWaitsForUsers(t *testing.T) {
	path := backingFile(t)
	dev := attach(t, path, nil)
	if err := loopsetup.Detach(dev.Path()); err != nil {
		t.Error(err)
	}
	if _, err := loopsetup.Inspect(dev.Path()); err != nil {
		t.Errorf("the device went away under its user: %v", err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	waitDetached(t, path)
}

// TestDetachOfForeignDevice detaches a device that stays when its maker closes it, as one of
// losetup(8) does.
func TestDetachOfForeignDevice(t *testing.T) {
	require.Command(t, "losetup")
	path := backingFile(t)
	name := command(t, "losetup", "-f", "--show", path)
	if devs := find(t, path); len(devs) != 1 || devs[0] != name {
		t.Fatalf("found %v, losetup made %s", devs, name)
	}
	info, err := loopsetup.Inspect(name)
	if err != nil || info.Autoclear || info.DirectIO || info.BlockSize != 512 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := loopsetup.Detach(name); err != nil {
		t.Error(err)
	}
	waitDetached(t, path)
}

func TestDeathLeavesNoDevice(t *testing.T) {
	path := backingFile(t)
	cmd := child("attach", path)
	name := waitReady(t, cmd)
	if devs := find(t, path); len(devs) != 1 || devs[0] != name {
		t.Errorf("found %v, the child holds %s", devs, name)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // says that it was killed
	waitDetached(t, path)
}

func TestDeletedBackingFileIsFound(t *testing.T) {
	path := backingFile(t)
	dev := attach(t, path, nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if devs := find(t, path); len(devs) != 1 || devs[0] != dev.Path() {
		t.Errorf("found %v instead of %s", devs, dev.Path())
	}
	if info, err := loopsetup.Inspect(dev.Path()); err != nil || !info.Deleted || info.Backing != path {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestNoDescriptorLeaks counts the descriptors of this process before and after attaching, failing
// to, and detaching.
func TestNoDescriptorLeaks(t *testing.T) {
	path := backingFile(t)
	cycle := func() {
		for _, cfg := range []*loopsetup.Config{nil, {Legacy: true}} {
			if err := attach(t, path, cfg).Close(); err != nil {
				t.Fatal(err)
			}
			waitDetached(t, path)
		}
		if _, err := loopsetup.Attach(filepath.Dir(path), nil); err == nil {
			t.Fatal("a directory was attached")
		}
		if err := loopsetup.SwapOff(path); !errors.Is(err, loopsetup.ErrNotSwap) {
			t.Fatal(err)
		}
	}
	cycle()
	before := descriptors(t)
	for range 5 {
		cycle()
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// descriptors counts the open descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
