// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// A lineSink is the other end of a logger.
type lineSink chan string

func (s lineSink) Write(line []byte) (int, error) {
	s <- string(line)
	return len(line), nil
}

// asksForLock asks for a page far behind the image's end, as a worker asks for others.
func asksForLock(f *os.File) error {
	request := make([]byte, 16)
	request[5], request[9] = 1, store.PageSize>>8
	_, err := f.Write(request)
	return err
}

// TestKeeperLogsFailures has steps of the keeper fail that have no caller to tell.
func TestKeeperLogsFailures(t *testing.T) {
	said := make(lineSink, 16)
	k := &keeper{cfg: Config{Config: zramfsd.Config{Dir: t.TempDir()}}, locks: true, logger: slog.New(slog.NewTextHandler(said, nil)), extraDevices: extraDevices{keepers: map[int]*extraKeeper{}}}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.File() == nil {
		t.Skip("the race detector's build has its images on the heap")
	}
	for want, fail := range map[string]func(){
		"end a worker: os: process already released": func() {
			p := &process{cmd: exec.Command("true")}
			if err := p.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			number := p.cmd.Process.Pid
			if err := p.cmd.Process.Release(); err != nil {
				t.Fatal(err)
			}
			reap(t)
			p.cmd.Process.Pid = number // of no group
			k.kill(p)
		},
		"close the backing device of before: ": func() {
			b := newBackingDevice(t)
			if err := b.close(); err != nil {
				t.Fatal(err)
			}
			k.image.Store(&image{})
			k.image.Load().backing.Store(b)
			if path, errno := k.setBacking(""); path != "" || errno != 0 {
				t.Errorf("no backing device: %q, %v", path, errno)
			}
		},
		"make the device zram1: no device today": func() {
			k.cfg.DeviceArgs = func(zramfsd.Config) []string { return []string{"fail"} }
			if number, errno := k.addExtra(); number != 0 || errno != syscall.ENOMEM {
				t.Errorf("device %d, %v", number, errno)
			}
		},
		"has the 15 extra devices that it may have": func() {
			k.cfg.DeviceArgs = func(zramfsd.Config) []string { return []string{"fail"} }
			k.extraDevices.there = 1<<16 - 2
			if number, errno := k.addExtra(); number != 0 || errno != syscall.ENOMEM {
				t.Errorf("device %d, %v", number, errno)
			}
			k.extraDevices.there = 0
		},
		"lock the image: ": func() {
			theirs, err := k.serveLocks(&image{memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(asksForLock(theirs), theirs.Close()); err != nil {
				t.Error(err)
			}
		},
	} {
		fail()
		if got := <-said; !strings.Contains(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
}

// TestWorkerIsStopped tells a worker that waits for the order to serve, or for a new image, that
// neither will come.
func TestWorkerIsStopped(t *testing.T) {
	w := &worker{orders: make(chan keeperMsg, 1)}
	w.orders <- keeperMsg{Stop: true}
	if err := w.awaitOrder(); err == nil || err.Error() != "stopped before it served" {
		t.Errorf("stopped: %v", err)
	}
	close(w.orders)
	if err := w.awaitOrder(); !errors.Is(err, errSilent) {
		t.Errorf("without a keeper: %v", err)
	}
	w.undo = []func() error{func() error { return unix.EIO }, func() error { return unix.ENOSPC }}
	if err := w.takeApart(); !errors.Is(err, unix.EIO) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("taken apart: %v", err)
	}
	ended := make(chan struct{})
	close(ended)
	refused := make(chan struct{}, 1)
	refused <- struct{}{}
	for _, c := range []struct {
		w    *worker
		want error
	}{
		{&worker{leaving: ended}, fusefs.ErrLeft}, {&worker{refused: refused}, syscall.ENOMEM},
		{&worker{orphaned: ended}, syscall.ENOMEM}, {&worker{orphaned: ended}, errSilent},
	} {
		c.w.news = newNewsWriter(new(strings.Builder))
		if err := c.w.resize(1, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("made anew: %v, want %v", err, c.want)
		}
	}
}

// TestClosingFails closes what is closed: each step that takes a device apart says so.
func TestClosingFails(t *testing.T) {
	k := &keeper{cfg: Config{Config: zramfsd.Config{Disksize: 1 << 20, Memory: store.MemoryMemfd}}}
	if err := k.makeMemory(); err != nil {
		t.Fatal(err)
	}
	if k.image.Load().memory.File() == nil {
		t.Skip("the race detector's build has its images on the heap")
	}
	journal, _ := newJournal(t)
	again, err := unix.Dup(journal.fd)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := openKernelLog(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	logs := newLogs(kernel)
	for name, end := range map[string]func() error{
		"memory": k.takeApart, "journal": (&journalSink{fd: again}).Close, "log": logs.Close, "backing device": newBackingDevice(t).close,
	} {
		if err := end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := end(); err == nil {
			t.Errorf("%s: closed twice", name)
		}
	}
}

// newBackingDevice opens a backing device.
func newBackingDevice(t *testing.T) *backing {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backing")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := openBacking(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestNextImageKeepsTheBackingDevice closes an image: its backing device stays where the next image
// has it too.
func TestNextImageKeepsTheBackingDevice(t *testing.T) {
	for _, kept := range []bool{false, true} {
		k := &keeper{cfg: Config{Config: zramfsd.Config{Memory: store.MemoryMemfd}}}
		i, err := k.newImage(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		b, next := newBackingDevice(t), &image{}
		i.backing.Store(b)
		if kept {
			next.backing.Store(b)
		}
		if err := i.close(next); err != nil {
			t.Error(err)
		}
		if err := b.close(); (err == nil) != kept {
			t.Errorf("the next image has it: %v; closed with an error: %v", kept, err)
		}
	}
}

func TestIgnoreClosed(t *testing.T) {
	if err := ignoreClosed(unix.EIO); err != unix.EIO || ignoreClosed(os.ErrClosed) != nil {
		t.Errorf("closed: %v", err)
	}
}

// TestImageProtection warns where nothing keeps the image out of swap.
func TestImageProtection(t *testing.T) {
	locked, failed := status.Protection{State: status.OK}, status.Protection{State: status.Warn}
	for _, c := range []struct {
		kind  store.MemoryKind
		lock  status.Protection
		state status.State
		says  string
	}{
		{store.MemoryNoswap, failed, status.OK, "never swapped"},
		{store.MemoryMemfd, locked, status.OK, "both locked"},
		{store.MemoryMemfd, failed, status.Warn, "nothing keeps out of swap"},
	} {
		if p := imageProtection(c.kind, c.lock); p.State != c.state || !strings.Contains(p.Detail, c.says) || p.Name != status.NameImage {
			t.Errorf("%v, %v: %+v", c.kind, c.lock.State, p)
		}
	}
}

// TestNoSockets has no file for the sockets of commands: the device works, and says what does not.
func TestNoSockets(t *testing.T) {
	k := &keeper{cfg: Config{Config: zramfsd.Config{Dir: t.TempDir()}}}
	restore := filesLeft(t, 0)
	k.listen()
	restore()
	want := "upgrade, verify, export and import are not possible: no directory for the sockets: "
	if len(k.undo) != 0 || len(k.protections) != 1 || k.protections[0].State != status.Warn || !strings.HasPrefix(k.protections[0].Detail, want) {
		t.Errorf("%d sockets, %+v", len(k.undo), k.protections)
	}
}

// TestLogsDrain writes all that is queued when the log is closed, and counts what the sink refuses.
func TestLogsDrain(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	close(sink.gate)
	var noted []string
	l := &Logs{lines: make(chan line, 1), corrupt: make(chan damage, 1), filled: make(chan int, 1), failed: make(chan failure, 1), sink: sink,
		noted: func(_ telemetry.Kind, text string) { noted = append(noted, text) }}
	l.enqueue(slog.LevelInfo, []byte("line"))
	l.Corrupt(7)
	l.Filled(90)
	l.Failed(telemetry.Read, 8, syscall.EIO)
	w := newLogWriter(l)
	w.drain()
	for _, want := range []string{"INFO line", "ERROR page 7 is damaged", "WARN 90 % of the memory limit"} {
		if !contains(sink.text(), want) {
			t.Errorf("no line %q in %q", want, sink.text())
		}
	}
	if !contains(noted, "read of page 8: input/output error") {
		t.Errorf("noted %q", noted)
	}
	full, err := openKernelLog("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	l.sink = full
	if w.write(slog.LevelInfo, []byte("lost")); l.Dropped() != 1 {
		t.Errorf("%d lines were dropped", l.Dropped())
	}
	defer func(was *os.File) { os.Stderr = was }(os.Stderr)
	if os.Stderr, err = os.OpenFile("/dev/full", os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Stderr.Close()
	if err := (stderrSink{}).write(slog.LevelInfo, []byte("lost")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("standard error took the line: %v", err)
	}
}

// TestDoomedBeforeItStarts starts a worker that the supervision has killed before: it ends.
func TestDoomedBeforeItStarts(t *testing.T) {
	p := &process{doomed: true}
	if err := p.start(Config{WorkArgs: func(zramfsd.Config) []string { return []string{"hang"} }}, program{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if how := p.follow(func(workerMsg) {}); how == nil || !strings.Contains(how.Error(), "signal: killed") {
		t.Errorf("it ended by %v", how)
	}
}

// TestMountCannotBeHeld has a mount point go before the keeper can hold it: the log says so.
func TestMountCannotBeHeld(t *testing.T) {
	require.FUSE(t)
	dir := filepath.Join(t.TempDir(), "zram")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	session, err := fusefs.NewSession(dir, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	said := make(lineSink, 1)
	k := &keeper{session: session, logger: slog.New(slog.NewTextHandler(said, nil))}
	k.hear(nil, workerMsg{Noted: true})
	if got := <-said; !strings.Contains(got, "hold the mount: ") {
		t.Errorf("logged %q", got)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// reap waits for all children.
func reap(t *testing.T) {
	t.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.ECHILD) {
			return
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
	}
}
