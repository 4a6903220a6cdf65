// SPDX-License-Identifier: Apache-2.0

package loopsetup_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// command returns the trimmed output of a program.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// swapArea returns a formatted device of size bytes which is taken off swap when the test ends, by
// the guard if the test cannot.
func swapArea(t *testing.T, size int64) (dev *loopsetup.Device, backing string) {
	t.Helper()
	require.Swap(t)
	backing = backingFile(t)
	if err := os.Truncate(backing, size); err != nil {
		t.Fatal(err)
	}
	dev = attach(t, backing, nil)
	if _, err := loopsetup.FormatSwap(dev.File(), uint64(size), "zramfs-test"); err != nil {
		t.Fatal(err)
	}
	startGuard(t, dev.Path())
	t.Cleanup(func() {
		if err := loopsetup.SwapOff(dev.Path()); err != nil && !errors.Is(err, loopsetup.ErrNotSwap) {
			t.Error(err)
		}
	})
	return dev, backing
}

// active returns what the kernel says of a swap area, if it is one.
func active(t *testing.T, dev string) (loopsetup.Swap, bool) {
	t.Helper()
	areas, err := loopsetup.Swaps()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(areas, func(s loopsetup.Swap) bool { return s.Path == dev })
	if i < 0 {
		return loopsetup.Swap{}, false
	}
	return areas[i], true
}

func TestF070SwapsShowsTheDevice(t *testing.T) {
	dev, backing := swapArea(t, areaSize)
	if err := loopsetup.SwapOn(dev.Path(), 100, loopsetup.DiscardBoth); err != nil {
		t.Fatal(err)
	}
	s, ok := active(t, dev.Path())
	s.Used = 0 // other processes of this machine may use it
	want := loopsetup.Swap{Path: dev.Path(), Type: "partition", Size: areaSize - uint64(os.Getpagesize()), Priority: 100, Found: true}
	if !ok || s != want {
		t.Errorf("/proc/swaps says %+v instead of %+v", s, want)
	}
	if err := loopsetup.SwapOn(dev.Path(), 100, ""); !errors.Is(err, unix.EBUSY) {
		t.Errorf("swapon twice: %v", err)
	}
	// The area alone holds the device now, and lets it go.
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
	if info, err := loopsetup.Inspect(dev.Path()); err != nil || info.Backing != backing {
		t.Errorf("after Close: %+v, %v", info, err)
	}
	if err := loopsetup.SwapOff(dev.Path()); err != nil {
		t.Error(err)
	}
	if s, ok := active(t, dev.Path()); ok {
		t.Errorf("still in /proc/swaps: %+v", s)
	}
	waitDetached(t, backing)
}

func TestSwapOnKernelChosenPriority(t *testing.T) {
	dev, _ := swapArea(t, areaSize)
	if err := loopsetup.SwapOn(dev.Path(), -1, loopsetup.DiscardNone); err != nil {
		t.Fatal(err)
	}
	if s, ok := active(t, dev.Path()); !ok || s.Priority >= 0 {
		t.Errorf("%+v, %v", s, ok)
	}
}

// TestDiscardPolicies sees the single discard at swapon in the blocks of the backing file: it frees
// them.
func TestDiscardPolicies(t *testing.T) {
	dev, backing := swapArea(t, areaSize)
	for policy, frees := range map[loopsetup.Discard]bool{
		loopsetup.DiscardBoth: true, loopsetup.DiscardOnce: true, loopsetup.DiscardPages: false, loopsetup.DiscardNone: false,
	} {
		if _, err := dev.File().WriteAt(bytes.Repeat([]byte{0xa5}, areaSize/2), areaSize/4); err != nil {
			t.Fatal(err)
		}
		if err := dev.File().Sync(); err != nil {
			t.Fatal(err)
		}
		if full := allocated(t, backing); full < areaSize/2 {
			t.Fatalf("only %d bytes of the file are allocated after writing", full)
		}
		if err := loopsetup.SwapOn(dev.Path(), 0, policy); err != nil {
			t.Fatal(err)
		}
		if err := loopsetup.SwapOff(dev.Path()); err != nil {
			t.Fatal(err)
		}
		if left := allocated(t, backing); frees != (left < areaSize/4) {
			t.Errorf("policy %q left %d bytes of the file allocated", policy, left)
		}
	}
}

// allocated returns how many bytes of a file take room on its disk.
func allocated(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

func TestSwapErrorsSayWhatIsWrong(t *testing.T) {
	require.Swap(t)
	dev := attach(t, backingFile(t), nil)
	if err := loopsetup.SwapOn(dev.Path(), 0, ""); !errors.Is(err, loopsetup.ErrSwapHeader) || !errors.Is(err, unix.EINVAL) {
		t.Errorf("swapon without a header: %v", err)
	}
	if err := loopsetup.SwapOff(dev.Path()); !errors.Is(err, loopsetup.ErrNotSwap) || !errors.Is(err, unix.EINVAL) {
		t.Errorf("swapoff of what is no swap: %v", err)
	}
	if err := loopsetup.SwapOn("/dev/loop1048575", 0, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("swapon of what does not exist: %v", err)
	}
}

// TestSwapOffBringsPagesBackDespiteSignals lets several processes page out, then takes swap off
// while signals rain on the calling thread: the kernel looks for them between two processes.
func TestSwapOffBringsPagesBackDespiteSignals(t *testing.T) {
	dev, _ := swapArea(t, 64<<20)
	if err := loopsetup.SwapOn(dev.Path(), 0, loopsetup.DiscardPages); err != nil {
		t.Fatal(err)
	}
	const processes = 8
	var holders [processes]*exec.Cmd
	var lives [processes]io.Closer
	for i := range holders {
		holders[i] = child("swapped", "")
		in, err := holders[i].StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		lives[i] = in
		waitReady(t, holders[i])
	}
	if s, ok := active(t, dev.Path()); !ok || s.Used < processes*swappedSize/2 {
		t.Errorf("%d processes paged out %d bytes each, but %+v", processes, swappedSize, s)
	}

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stop := rainSignals(t, unix.Gettid())
	err := loopsetup.SwapOff(dev.Path())
	stop()
	if err != nil {
		t.Error(err)
	}
	for i := range holders {
		if err := errors.Join(lives[i].Close(), holders[i].Wait()); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
}

// rainSignals sends a thread of this process signals which a Go program ignores, until the function
// it returns is called.
func rainSignals(t *testing.T, thread int) (stop func()) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-end:
				ended <- nil
				return
			default:
			}
			if err := unix.Tgkill(os.Getpid(), thread, unix.SIGWINCH); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func() {
		close(end)
		if err := <-ended; err != nil {
			t.Errorf("send signals: %v", err)
		}
	}
}

// TestGuardTakesSwapOff proves the guard by letting it act: here it believes that the test has
// died.
func TestGuardTakesSwapOff(t *testing.T) {
	dev, _ := swapArea(t, areaSize)
	guard := child("guard", dev.Path())
	life, err := guard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	waitReady(t, guard)
	if err := loopsetup.SwapOn(dev.Path(), 0, ""); err != nil {
		t.Error(err)
	}
	if _, ok := active(t, dev.Path()); !ok {
		t.Error("swap is not on")
	}
	if err := life.Close(); err != nil {
		t.Error(err)
	}
	if err := guard.Wait(); err != nil {
		t.Error(err)
	}
	if s, ok := active(t, dev.Path()); ok {
		t.Errorf("the guard left %+v on", s)
	}
}
