// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A poller is a program that waits for changes of control/pressure.
type poller struct {
	t *testing.T
	*os.File
}

// poll waits in poll(2), and reports whether there was a change.
func (p poller) poll(patience time.Duration) bool {
	p.t.Helper()
	fds := []unix.PollFd{{Fd: int32(p.Fd()), Events: unix.POLLPRI}}
	for end := time.Now().Add(patience); ; {
		switch n, err := unix.Poll(fds, max(int(time.Until(end).Milliseconds()), 0)); {
		case err == unix.EINTR:
		case err != nil:
			p.t.Fatal(err)
		case n == 0:
			return false
		default:
			return fds[0].Revents&unix.POLLPRI != 0
		}
	}
}

// level reads the level from the beginning, after which there is no change.
func (p poller) level() (level int) {
	p.t.Helper()
	text := make([]byte, 4096)
	n, err := p.ReadAt(text, 0)
	if n == 0 {
		p.t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text[:n]), "level %d\n", &level); err != nil {
		p.t.Fatalf("%q: %v", text[:n], err)
	}
	return level
}

// Programs that wait in poll(2) learn that the memory limit is nearly in use, and that it is no
// longer; also from a worker that takes over while they wait.
func TestPressureIsPolled(t *testing.T) {
	require.FUSE(t)
	dir := mount(t, "--size", "128M", "--mem-limit", "64M", "--cold", "off")
	f, err := os.Open(filepath.Join(dir, "control/pressure"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := poller{t, f}
	if level := p.level(); level != 0 || p.poll(200*time.Millisecond) {
		t.Errorf("an empty device has the level %d, or a change", level)
	}
	woken := make(chan bool)
	go func() { woken <- p.poll(20 * time.Second) }()
	device := openFile(t, filepath.Join(dir, "dev/zram0"), unix.O_DIRECT)
	noise := aligned(t)
	random := rand.NewChaCha8([32]byte{7})
	for i := range int64(52 << 20 / pageSize) {
		_, _ = random.Read(noise) // never fails
		if _, err := device.WriteAt(noise, i*pageSize); err != nil {
			t.Fatal(err)
		}
	}
	if !<-woken {
		t.Error("52 MiB of 64 wake no poller")
	}
	for end := time.Now().Add(10 * time.Second); p.level() != 80; {
		if time.Now().After(end) {
			t.Fatalf("the level is %d", p.level())
		}
		p.poll(time.Second)
	}
	if p.poll(200 * time.Millisecond) {
		t.Error("a change without one")
	}
	go func() { woken <- p.poll(20 * time.Second) }()
	time.Sleep(200 * time.Millisecond) // it waits by then
	killWorker(t, dir)
	killed := time.Now()
	if !<-woken || time.Since(killed) > 15*time.Second { // at the end of its time poll(2) asks once more
		t.Error("the successor wakes no poller")
	}
	if level := p.level(); level != 80 && !p.poll(10*time.Second) {
		t.Errorf("with the successor the level is %d", level)
	}
	if err := unix.Fallocate(int(device.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 52<<20); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); p.level() != 0; {
		if !p.poll(5*time.Second) || time.Now().After(end) {
			t.Fatalf("emptied, the level is %d", p.level())
		}
	}
	if !otherFilesPoll(t, dir) {
		t.Error("other files are not ready, or have changes")
	}
}

// otherFilesPoll reports whether a file without changes is always ready, as files are.
func otherFilesPoll(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "block/zram0/mm_stat"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN | unix.POLLPRI}}
	n, err := unix.Poll(fds, 1000)
	return err == nil && n == 1 && fds[0].Revents == unix.POLLIN
}
