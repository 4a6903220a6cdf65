// SPDX-License-Identifier: Apache-2.0

package loopsetup_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// TestSlicesOfOneFile puts devices on parts of a file and wants each to write where it should, by
// the new call and by the old ones.
func TestSlicesOfOneFile(t *testing.T) {
	const slice = 2 << 20
	path := backingFile(t)
	for i, legacy := range []bool{false, true, false, true} {
		cfg := &loopsetup.Config{Offset: uint64(i) * slice, SizeLimit: slice, Legacy: legacy}
		if i == 3 {
			cfg.SizeLimit = 0 // all that is left
		}
		dev := attach(t, path, cfg)
		info, err := loopsetup.Inspect(dev.Path())
		if err != nil || info.Offset != cfg.Offset || info.SizeLimit != cfg.SizeLimit || info.Size != slice || !info.DirectIO {
			t.Errorf("slice %d: %+v, %v", i, info, err)
		}
		if _, err := dev.File().WriteAt(bytes.Repeat([]byte{byte('a' + i)}, 4096), slice-4096); err != nil {
			t.Fatal(err)
		}
		if err := dev.File().Sync(); err != nil {
			t.Fatal(err)
		}
		if n, err := dev.File().WriteAt([]byte("x"), slice); n != 0 || err == nil {
			t.Errorf("slice %d was written beyond its end", i)
		}
	}
	if devs := find(t, path); len(devs) != 4 {
		t.Errorf("found %v", devs)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, areaSize)
	for i := range 4 {
		copy(want[(i+1)*slice-4096:], bytes.Repeat([]byte{byte('a' + i)}, 4096))
	}
	if !bytes.Equal(got, want) {
		t.Error("a slice was written in another place")
	}
}

// TestAttachAll wants all devices, each with its discard limit, or none.
func TestAttachAll(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	const slice = 2 << 20
	path := backingFile(t)
	cfgs := []*loopsetup.Config{
		{SizeLimit: slice, DiscardMax: 1 << 20}, {Offset: slice, SizeLimit: slice, DiscardMax: 2 << 20}, {Offset: 2 * slice, DiscardMax: 1 << 20},
	}
	all, err := loopsetup.AttachAll(path, cfgs)
	if err != nil {
		t.Fatal(err)
	}
	for i, dev := range all {
		attr := filepath.Join("/sys/block", filepath.Base(dev.Path()), "queue/discard_max_bytes")
		info, err := loopsetup.Inspect(dev.Path())
		if b, readErr := os.ReadFile(attr); err != nil || readErr != nil || string(b) != fmt.Sprintln(cfgs[i].DiscardMax) || info.Offset != cfgs[i].Offset {
			t.Errorf("device %d: %+v, discard_max_bytes %q, %v, %v, warnings %v", i, info, b, err, readErr, dev.Warnings())
		}
		if err := errors.Join(os.WriteFile(attr, []byte("4294963200"), 0), dev.Close()); err != nil {
			t.Error(err)
		}
	}
	waitDetached(t, path)
	cfgs[2].Offset = areaSize
	if all, err := loopsetup.AttachAll(path, cfgs); !errors.Is(err, loopsetup.ErrInvalid) || len(all) > 0 {
		t.Errorf("%d devices, %v", len(all), err)
	}
	waitDetached(t, path)
}

// TestSliceBeyondTheFile wants no device that is smaller than was asked for: the kernel makes it
// without a word.
func TestSliceBeyondTheFile(t *testing.T) {
	path := backingFile(t)
	for _, cfg := range []loopsetup.Config{
		{Offset: areaSize}, {Offset: areaSize - 4096, SizeLimit: 8192}, {SizeLimit: areaSize + 4096}, {Offset: 1 << 62},
	} {
		for _, cfg.Legacy = range []bool{false, true} {
			if _, err := loopsetup.Attach(path, &cfg); !errors.Is(err, loopsetup.ErrInvalid) {
				t.Errorf("%+v: %v", cfg, err)
			}
			waitDetached(t, path)
		}
	}
}

// TestDiscardMax reads back what the kernel made of it.
func TestDiscardMax(t *testing.T) {
	path := backingFile(t)
	dev := attach(t, path, &loopsetup.Config{DiscardMax: 1 << 20})
	attr := filepath.Join("/sys/block", filepath.Base(dev.Path()), "queue/discard_max_bytes")
	t.Cleanup(func() { // the kernel remembers it for the next file
		if err := os.WriteFile(attr, []byte("4294963200"), 0); err != nil {
			t.Error(err)
		}
	})
	if b, err := os.ReadFile(attr); err != nil || string(b) != "1048576\n" || len(dev.Warnings()) > 0 {
		t.Errorf("%q, %v, warnings %v", b, err, dev.Warnings())
	}
}

// TestDiscardMaxRefused wants a warning and a device that works: /sys is read-only in most
// containers.
func TestDiscardMaxRefused(t *testing.T) {
	path := backingFile(t)
	out, err := inMountNamespace(child("nosys", path)).Output()
	if err != nil || !strings.Contains(string(out), "limit discard requests of /dev/loop") || !strings.Contains(string(out), "read-only file system") {
		t.Errorf("warnings %q, %v", out, err)
	}
	waitDetached(t, path)
}

// detachedFile makes a file system with a file zram0 of 1 MiB, attaches a device to the file and
// detaches the mount.
func detachedFile(t *testing.T) (dev *loopsetup.Device, id loopsetup.FileID) {
	t.Helper()
	require.Root(t)
	require.Loop(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "zram0")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	dev = attach(t, path, &loopsetup.Config{NoDirectIO: true})
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if devs := find(t, path); len(devs) != 0 {
		t.Errorf("%s is found on %v, detached", path, devs)
	}
	return dev, loopsetup.FileID{Device: st.Dev, Inode: st.Ino}
}

// TestDetachedFiles tells two files of one path apart.
func TestDetachedFiles(t *testing.T) {
	one, oneID := detachedFile(t)
	two, twoID := detachedFile(t)
	noted := []string{two.Path(), "/dev/loop1048575", "/dev/null", one.Path(), ""}
	if got, err := loopsetup.FindAmong(noted, "/zram0"); err != nil || !slices.Equal(got, []string{two.Path(), one.Path()}) {
		t.Errorf("found %v, %v", got, err)
	}
	if got, err := loopsetup.FindAmong(noted, "/zram1"); err != nil || len(got) != 0 {
		t.Errorf("found %v, %v", got, err)
	}
	for dev, want := range map[*loopsetup.Device]loopsetup.FileID{one: oneID, two: twoID} {
		if got, _, err := loopsetup.Identify(dev.Path()); err != nil || got != want {
			t.Errorf("%s: %+v, %v instead of %+v", dev.Path(), got, err, want)
		}
	}
	if oneID == twoID {
		t.Errorf("two files are %+v", oneID)
	}
}

// TestSequenceTellsFilesApart attaches a device twice: it is not the same the second time, even
// when it has the same number.
func TestSequenceTellsFilesApart(t *testing.T) {
	path := backingFile(t)
	seen := make(map[uint64]bool)
	for range 2 {
		dev := attach(t, path, nil)
		info, err := loopsetup.Inspect(dev.Path())
		if err != nil || info.Sequence == 0 || seen[info.Sequence] {
			t.Errorf("%+v, %v, seen %v", info, err, seen)
		}
		seen[info.Sequence] = true
		again, err := loopsetup.Inspect(dev.Path())
		if err != nil || again != info {
			t.Errorf("%+v became %+v, %v", info, again, err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
		waitDetached(t, path)
	}
}

func TestIdentifyWithoutFile(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	if id, _, err := loopsetup.Identify("/dev/loop1048575"); !errors.Is(err, loopsetup.ErrNotAttached) {
		t.Errorf("%+v, %v", id, err)
	}
	if id, _, err := loopsetup.Identify("/dev/null"); !errors.Is(err, loopsetup.ErrNotLoop) {
		t.Errorf("%+v, %v", id, err)
	}
}
