// SPDX-License-Identifier: Apache-2.0

package loopsetup_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

const areaSize = 8 << 20

// backingFile returns the path of a new sparse file where the file system allows direct I/O. When
// the test ends no loop device may be on it.
func backingFile(t *testing.T) string {
	t.Helper()
	require.Root(t)
	require.Loop(t)
	path := filepath.Join(t.TempDir(), "backing")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatalf("open %s for direct I/O: %v (set TMPDIR to a directory on ext4, xfs or btrfs)", path, err)
	}
	if err := errors.Join(unix.Ftruncate(fd, areaSize), unix.Close(fd)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { waitDetached(t, path) })
	return path
}

// attach attaches a device that is let go when the test ends, if the test has not done so itself.
func attach(t *testing.T, backing string, cfg *loopsetup.Config) *loopsetup.Device {
	t.Helper()
	dev, err := loopsetup.Attach(backing, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return dev
}

// find returns the devices on a file.
func find(t *testing.T, backing string) []string {
	t.Helper()
	devs, err := loopsetup.Find(backing)
	if err != nil {
		t.Fatal(err)
	}
	return devs
}

// waitDetached fails the test unless the file is without a device soon: some kernels detach after
// the last close has returned.
func waitDetached(t *testing.T, backing string) {
	t.Helper()
	var devs []string
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if devs = find(t, backing); len(devs) == 0 {
			return
		}
	}
	t.Errorf("%s is still on %v", backing, devs)
}

func TestAttachBothWays(t *testing.T) {
	for name, cfg := range map[string]*loopsetup.Config{
		"default":          nil,
		"legacy":           {Legacy: true},
		"small blocks":     {BlockSize: 512},
		"legacy, small":    {BlockSize: 512, Legacy: true},
		"buffered":         {NoDirectIO: true},
		"legacy, buffered": {NoDirectIO: true, Legacy: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := backingFile(t)
			dev := attach(t, path, cfg)
			want := loopsetup.Info{Path: dev.Path(), Backing: path, DirectIO: true, Autoclear: true, BlockSize: 4096, Size: areaSize}
			if cfg != nil && cfg.BlockSize != 0 {
				want.BlockSize = uint64(cfg.BlockSize)
			}
			if cfg != nil && cfg.NoDirectIO {
				want.DirectIO = false
			}
			got, err := loopsetup.Inspect(dev.Path())
			got.Sequence = 0 // another one each time
			if err != nil || got != want {
				t.Errorf("%+v, %v\ninstead of %+v", got, err, want)
			}
			if devs := find(t, path); len(devs) != 1 || devs[0] != dev.Path() {
				t.Errorf("found %v instead of %s", devs, dev.Path())
			}
			if w := dev.Warnings(); len(w) != 0 {
				t.Errorf("warnings: %v", w)
			}
			checkBytesReachFile(t, dev, path)
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
			waitDetached(t, path)
		})
	}
}

// checkBytesReachFile writes through the device and reads the file.
func checkBytesReachFile(t *testing.T, dev *loopsetup.Device, path string) {
	t.Helper()
	want := bytes.Repeat([]byte(dev.Path()), 1000)[:4096]
	if _, err := dev.File().WriteAt(want, 4096); err != nil {
		t.Fatal(err)
	}
	if err := dev.File().Sync(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[4096:8192], want) || !bytes.Equal(got[:4096], make([]byte, 4096)) {
		t.Error("what was written to the device is not in the file")
	}
}

// TestWriteThrottlingIsOff turns it on again for the devices that Attach may choose, since the
// kernel remembers it as off.
func TestWriteThrottlingIsOff(t *testing.T) {
	path := backingFile(t)
	attrs, err := filepath.Glob("/sys/block/loop*/queue/wbt_lat_usec")
	if err != nil {
		t.Fatal(err)
	}
	if len(attrs) == 0 {
		t.Log("this kernel throttles no loop device")
	}
	for _, attr := range attrs {
		// The kernel's own default. Devices in use are left alone: they are not chosen.
		if _, err := os.Stat(filepath.Join(attr, "../../loop")); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(attr, []byte("2000"), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	dev := attach(t, path, nil)
	attr := filepath.Join("/sys/block", filepath.Base(dev.Path()), "queue/wbt_lat_usec")
	if b, err := os.ReadFile(attr); len(attrs) > 0 && (err != nil || string(b) != "0\n") {
		t.Errorf("%s is %q, %v", attr, b, err)
	}
}

func TestAttachRefusals(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for path, want := range map[string]error{
		missing:     fs.ErrNotExist,
		t.TempDir(): unix.EISDIR,
		"/dev/null": loopsetup.ErrInvalid,
		"nul\x00":   unix.EINVAL,
	} {
		dev, err := loopsetup.Attach(path, nil)
		var e *loopsetup.Error
		if !errors.Is(err, want) || !errors.As(err, &e) || e.Op != loopsetup.OpAttach || e.Path != path {
			t.Errorf("%q: %v, %v", path, dev, err)
		}
		if strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%q: more than one line: %v", path, err)
		}
	}
}

// TestDirectIOIsVerified uses ramfs, which has no direct I/O: the one call silently attaches the
// device all the same.
func TestDirectIOIsVerified(t *testing.T) {
	require.Root(t)
	require.Loop(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err) // busy if a device is left on the file
		}
	})
	path := filepath.Join(dir, "backing")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, legacy := range []bool{false, true} {
		before := descriptors(t)
		_, err := loopsetup.Attach(path, &loopsetup.Config{Legacy: legacy})
		if !errors.Is(err, loopsetup.ErrNoDirectIO) {
			t.Errorf("legacy %v: %v", legacy, err)
		}
		if after := descriptors(t); after != before {
			t.Errorf("legacy %v: %d descriptors became %d", legacy, before, after)
		}
		// Which calls were made shows in who noticed: of the older ones, the kernel's own answers
		// EINVAL.
		if errors.Is(err, unix.EINVAL) != legacy {
			t.Errorf("legacy %v: the wrong calls were made: %v", legacy, err)
		}
		waitDetached(t, path)
		if dev := attach(t, path, &loopsetup.Config{Legacy: legacy, NoDirectIO: true}); dev.Close() != nil {
			t.Errorf("legacy %v: not even without direct I/O", legacy)
		}
	}
}

// TestConcurrentAttach makes the kernel offer one free device to several at once.
func TestConcurrentAttach(t *testing.T) {
	const parties = 12
	var files [parties]string
	var devs [parties]*loopsetup.Device
	for i := range files {
		files[i] = backingFile(t)
	}
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range files {
		done.Go(func() {
			<-start
			dev, err := loopsetup.Attach(files[i], &loopsetup.Config{Legacy: i%4 == 3})
			if err != nil {
				t.Errorf("party %d: %v", i, err)
				return
			}
			devs[i] = dev
		})
	}
	close(start)
	done.Wait()

	owner := make(map[string]int)
	for i, dev := range devs {
		if dev == nil {
			continue
		}
		if j, taken := owner[dev.Path()]; taken {
			t.Errorf("%s was given to %d and %d", dev.Path(), i, j)
		}
		owner[dev.Path()] = i
		if info, err := loopsetup.Inspect(dev.Path()); err != nil || info.Backing != files[i] {
			t.Errorf("%s is on %s, not on %s: %v", dev.Path(), info.Backing, files[i], err)
		}
		checkBytesReachFile(t, dev, files[i])
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAttachWithoutDeviceNodes(t *testing.T) {
	path := backingFile(t)
	if err := inMountNamespace(child("bare", path)).Run(); err != nil {
		t.Error(err)
	}
	waitDetached(t, path)
}

func TestInspectAndFindNeedNoPrivilege(t *testing.T) {
	path := backingFile(t)
	dev := attach(t, path, nil)
	if err := asNobody(child("nobody", dev.Path()+" "+path)).Run(); err != nil {
		t.Error(err)
	}
}
