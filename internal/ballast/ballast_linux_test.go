// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// swapForTest turns a small area on until the test ends. Should the test be killed, a process of
// its own turns it off.
func swapForTest(t *testing.T, size int64) string {
	t.Helper()
	require.Swap(t)
	dir, err := os.MkdirTemp("/dev/shm", "zramfs-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "area")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	dev, err := loopsetup.Attach(file, &loopsetup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	if _, err := loopsetup.FormatSwap(dev.File(), uint64(size), "zramfs-test"); err != nil {
		t.Fatal(err)
	}
	guard := exec.Command("sh", "-c", "sleep 30; swapoff "+dev.Path())
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-guard.Process.Pid, syscall.SIGKILL)
		_ = guard.Wait()
	})
	if err := loopsetup.SwapOn(dev.Path(), 100, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loopsetup.SwapOff(dev.Path()); err != nil && !errors.Is(err, loopsetup.ErrNotSwap) {
			t.Error(err)
		}
	})
	return dev.Path()
}

// own returns a line of this process's status, in bytes.
func own(t *testing.T, name string) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	n, err := kibibytes(text, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A ballast takes slots and no memory, and gives them back; also on kernels that write pages of
// zeros to the device and keep them in the swap cache, as before Linux 6.12, which pages of another
// byte show.
func TestBallastTakesSlots(t *testing.T) {
	path := swapForTest(t, 128<<20)
	always := func() bool { return true }
	for name, fill := range map[string]byte{"zeros": 0, "written": 0x5a} {
		t.Run(name, func(t *testing.T) {
			r, err := newReader("/", []string{path})
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			b, err := newBallast(100 << 20)
			if err != nil {
				t.Fatal(err)
			}
			b.fill, b.linger = fill, b.linger || fill != 0
			before, cachedBefore := own(t, "RssAnon"), swapCached(t)
			const size = 48 << 20 // below half, where the kernel keeps the slots of what is read back
			if err := b.resize(size, always); err != nil || b.size != size {
				t.Fatalf("%d bytes, %v", b.size, err)
			}
			if out, err := b.settle(); !out || err != nil {
				t.Errorf("it is not in swap: %v", err)
			}
			if out := own(t, "VmSwap"); out < size*7/8 {
				t.Errorf("%d of %d bytes are in swap", out, size)
			}
			if s, err := r.sample(); err != nil || s.used() < size*7/8 || s.own != 128<<20-pageSize {
				t.Errorf("%+v, %v", s, err)
			}
			if now := own(t, "RssAnon"); now > before+8<<20 {
				t.Errorf("it takes %d bytes of memory", now-before)
			}
			if cached := swapCached(t); cached > cachedBefore+16<<20 {
				t.Errorf("%d bytes are in the swap cache, before %d", cached, cachedBefore)
			}
			if err := b.resize(16<<20, always); err != nil || b.size != 16<<20 {
				t.Fatalf("%d bytes, %v", b.size, err)
			}
			if out := own(t, "VmSwap"); out > 24<<20 {
				t.Errorf("%d bytes are still in swap", out)
			}
			if err := b.resize(0, always); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func swapCached(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	n, err := kibibytes(text, "SwapCached")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Growing ends where programs want the slots, and asks before each chunk.
func TestBallastStops(t *testing.T) {
	b, err := newBallast(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	if err := b.resize(64<<20, func() bool { asked++; return asked <= 3 }); err != nil || b.size != 3*chunk {
		t.Errorf("%d bytes, %v", b.size, err)
	}
	if err := b.resize(1<<40, func() bool { return true }); err != nil || b.size != 64<<20 {
		t.Errorf("%d bytes of 64 MiB, %v", b.size, err)
	}
	if err := b.resize(0, nil); err != nil || b.size != 0 {
		t.Errorf("%d bytes, %v", b.size, err)
	}
}
