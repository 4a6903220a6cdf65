// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// stallLimit is the memory limit of a device whose writes stall; stallPages are more than fit below
// it.
const (
	stallLimit = 12 << 20
	stallPages = 4000
)

// A filling writes one page after the other, by a goroutine of its own.
type filling struct {
	wrote atomic.Int64
	ended chan error // of the last write
}

func startFilling(fd int, content [][]byte) *filling {
	f := &filling{ended: make(chan error, 1)}
	go func() {
		var err error
		for i := 0; i < len(content) && err == nil; i++ {
			if _, err = unix.Pwrite(fd, content[i], int64(i)*pageSize); err == nil {
				f.wrote.Store(int64(i) + 1)
			}
		}
		f.ended <- err
	}()
	return f
}

// stalls waits until a write has waited for a second, and returns how many came before.
func (f *filling) stalls(t *testing.T) int {
	t.Helper()
	for end, last := time.Now().Add(answerTimeout), int64(-1); ; time.Sleep(time.Second) {
		now := f.wrote.Load()
		if now == last {
			return int(now)
		}
		if last = now; time.Now().After(end) {
			t.Fatal("no write waits")
		}
	}
}

// stallingDevice makes a device whose writes stall, and opens it as swap uses it: the kernel lets
// no other call at the data file itself while a write to that waits.
func stallingDevice(t *testing.T) (dir string, fd int) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir = mount(t, "--size", "64M", "--mem-limit", itoa(stallLimit), "-a", "lz4", "--on-full", "stall")
	device, err := os.OpenFile(attachments["loopsetup"](t, dir), os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, int(device.Fd())
}

// With --on-full stall a write waits at the memory limit until pages are freed. Reads go on, also
// while more writes come than may wait.
func TestFullDeviceStalls(t *testing.T) {
	dir, fd := stallingDevice(t)
	random := pages.Generate(pages.Random, 64<<20/pageSize, 21)
	f := startFilling(fd, random[:stallPages])
	n := f.stalls(t)
	if n < stallLimit/2/pageSize || n > stallLimit/pageSize {
		t.Errorf("a write waits after %d pages", n)
	}
	var crowd sync.WaitGroup
	var refused atomic.Int32
	for i := range 64 {
		crowd.Go(func() {
			if _, err := unix.Pwrite(fd, random[i], int64(2*stallPages+i)*pageSize); err != nil {
				refused.Add(1)
			}
		})
	}
	within(t, answerTimeout, "writes beyond those that may wait fail", func() bool { return refused.Load() > 0 })
	checkPages(t, fd, random[:n])
	if err := unix.Fallocate(fd, punchHole, 0, int64(n)*pageSize); err != nil {
		t.Error(err)
	}
	crowd.Wait()
	if err := <-f.ended; err != nil {
		t.Errorf("after %d pages were freed, the write of page %d fails: %v", n, f.wrote.Load(), err)
	}
	for i := n; i < stallPages; i++ {
		checkPage(t, fd, i, random[i])
	}
	if s := statusOf(t, dir); s.Stalls.Requests == 0 || s.OnFull != "stall" {
		t.Errorf("the status says %+v, on_full %q", s.Stalls, s.OnFull)
	}
}

// While a write stalls, a worker that dies or is replaced keeps no request waiting.
func TestStallKeepsNoWorker(t *testing.T) {
	dir, fd := stallingDevice(t)
	c := newCrashing(t, dir)
	random := pages.Generate(pages.Random, stallPages, 23)
	for _, end := range []func(){c.kill, func() { mustRun(t, commandTimeout, "upgrade", dir) }} {
		f := startFilling(fd, random)
		n := f.stalls(t)
		began := time.Now()
		end()
		checkPages(t, fd, random[:n])
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("reads waited for %v", took)
		}
		if err := unix.Fallocate(fd, punchHole, 0, stallPages*pageSize); err != nil {
			t.Error(err)
		}
		<-f.ended // with an error or none: what a worker leaves does not stall again
	}
}

// With --on-full error no write waits for the backing device.
func TestFullDeviceFails(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "--mem-limit", itoa(stallLimit), "-a", "lz4", "--spill", backingFile(t, 64<<20), "--on-full", "error")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	random := pages.Generate(pages.Random, 64<<20/pageSize, 22)
	n := fill(t, fd, random)
	if n == len(random) {
		t.Error("no write fails")
	}
	checkPages(t, fd, random[:n])
}
