// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// hiddenLoop attaches a loop device to a file zram0 whose mount is then detached, as up leaves it.
func hiddenLoop(t *testing.T) *loopsetup.Device {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, filepath.Base(DataFile))
	err := os.WriteFile(path, make([]byte, 1<<20), 0o600)
	var loop *loopsetup.Device
	if err == nil {
		loop, err = loopsetup.Attach(path, &loopsetup.Config{NoDirectIO: true})
	}
	if err := errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loop.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return loop
}

// deviceOn returns a device that has a loop device attached, and has noted it.
func deviceOn(t *testing.T, loop *loopsetup.Device) Device {
	t.Helper()
	d := Device{Dir: "/run/zram", Noted: []uprecord.Loop{{Path: loop.Path()}}}
	var err error
	if d.Loops, err = d.Attached(); err != nil || len(d.Loops) != 1 {
		t.Fatalf("%v, %v", d.Loops, err)
	}
	d.NoteLoops(d.Loops)
	return d
}

// A device has no ballast, and down had found its areas before it waited: an area of that name is
// not turned off after it.
func TestTurnsOffNoAreaOfBefore(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	loop := hiddenLoop(t)
	d := deviceOn(t, loop)
	d.Swaps = []loopsetup.Swap{{Path: loop.Path()}} // it is off by now
	var out strings.Builder
	r := &Down{Out: &Narration{Out: &out, How: Verbose}}
	if err := r.turnOff([]Device{d}); err != nil || out.Len() > 0 {
		t.Errorf("%q was turned off: %v", out.String(), err)
	}
}

// A loop device that another program has for itself, as the device mapper has one, stays as it is:
// without its file it would be gone once that program ends.
func TestDetachLeavesWhatIsInUse(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	loop := hiddenLoop(t)
	if err := loop.Keep(); err != nil {
		t.Fatal(err)
	}
	d := Device{Dir: "/run/zram", Noted: []uprecord.Loop{{Path: loop.Path()}}}
	fd, err := unix.Open(loop.Path(), unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := detachAll(d); err == nil || !strings.Contains(err.Error(), loop.Path()+" is in use") {
		t.Error(err)
	}
	if info, err := loopsetup.Inspect(loop.Path()); err != nil || info.Autoclear {
		t.Errorf("%+v, %v", info, err)
	}
	if err := errors.Join(unix.Close(fd), loop.Close(), detachAll(d)); err != nil {
		t.Error(err)
	}
	if _, err := loopsetup.Inspect(loop.Path()); !errors.Is(err, loopsetup.ErrNotAttached) {
		t.Errorf("%s stays: %v", loop.Path(), err)
	}
}

// A loop device that a process has open when down gives up stays as it was.
func TestDetachGivesUp(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	t.Parallel() // it waits for ten seconds
	loop := hiddenLoop(t)
	if err := loop.Keep(); err != nil {
		t.Fatal(err)
	}
	d := Device{Dir: "/run/zram", Noted: []uprecord.Loop{{Path: loop.Path()}}}
	if err := detachAll(d); err == nil || !strings.Contains(err.Error(), "a loop device is still attached") {
		t.Error(err)
	}
	if info, err := loopsetup.Inspect(loop.Path()); err != nil || info.Autoclear {
		t.Errorf("%+v, %v", info, err)
	}
	if err := errors.Join(loop.Close(), detachAll(d)); err != nil {
		t.Error(err)
	}
}
