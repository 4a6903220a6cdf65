// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// The command that waits and Config.OnReady are told of a device. The error of either ends the
// process.
func TestTell(t *testing.T) {
	refused := errors.New("refused")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var told []*status.Report
	var answer error
	cfg := Config{OnReady: func(r *status.Report) error {
		told = append(told, r)
		return answer
	}}
	report := &status.Report{PID: 7, Dir: "/run/zram"}
	if err := tell(cfg, writer, report); err != nil || len(told) != 1 || told[0] != report {
		t.Errorf("%v, told %v", err, told)
	}
	if got, err := status.ReadAnnouncement(reader); err != nil || got.PID != report.PID {
		t.Errorf("the command reads %+v, %v", got, err)
	}
	if err := tell(cfg, writer, report); !errors.Is(err, os.ErrClosed) || len(told) != 1 {
		t.Errorf("without a reader: %v, told %v", err, told)
	}
	answer = refused
	if err := tell(cfg, nil, report); err != refused {
		t.Errorf("an error of OnReady: %v", err)
	}
	if err := tell(Config{}, nil, report); err != nil {
		t.Error(err)
	}
}

// The error of a start tells its cause here, and the exit code in other processes too.
func TestStartError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{{errClaimed, 1}, {fmt.Errorf("size: %w", store.ErrConfig), 2}, {&status.StartError{Message: "of a worker", Code: 7}, 7}} {
		if got := startError(c.err); got.Code != c.code || !errors.Is(got, c.err) || got.Message != c.err.Error() {
			t.Errorf("%v: code %d, %v", c.err, got.Code, got)
		}
	}
}

// An upgrade of a device that has ended is answered all the same, and so is another image.
func TestAskAfterTheEnd(t *testing.T) {
	k := &keeper{events: make(chan event), quiet: make(chan struct{})}
	close(k.quiet)
	r := &upgradeRequest{answer: make(chan control.UpgradeReport, 1)}
	if got := k.ask(r); got.Error != errDeviceEnded.Error() || r.why != errDeviceEnded {
		t.Errorf("answered %+v, since %v", got, r.why)
	}
	if got := k.upgrade(t.TempDir()); got.Error == "" {
		t.Error("a directory is a program")
	}
	if got := k.upgrade("/proc/self/exe"); got.Error != errDeviceEnded.Error() {
		t.Errorf("answered %+v", got)
	}
}

// The keeper looks at its device again at the time that the supervision asks for, without an event.
func TestAwaitEnds(t *testing.T) {
	k := &keeper{events: make(chan event, 1)}
	timer := time.AfterFunc(10*time.Second, func() { k.events <- event{} })
	k.await(&supervision{over: true}, time.Now().Add(time.Millisecond))
	if !timer.Stop() {
		t.Error("it waits for an event")
	}
}

// An image that no worker has laid out has no superblock to keep, which the log says. A process
// that was not started has no end to complain of, and is not started later.
func TestNothingToKeepOrKill(t *testing.T) {
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	var said strings.Builder
	k := &keeper{logger: slog.New(slog.NewTextHandler(&said, nil))}
	p := &process{image: &image{memory: memory}}
	p.image.keepSuperblock(k.logger)
	if p.image.superblock.Load() != nil || !strings.Contains(said.String(), "keep a copy of the superblock: ") {
		t.Errorf("kept %v, said %q", p.image.superblock.Load(), said.String())
	}
	said.Reset()
	p.image.restoreSuperblock(k.logger) // there is no copy
	if k.kill(p); said.Len() > 0 || !p.doomed {
		t.Errorf("killed: %v, said %q", p.doomed, said.String())
	}
}

// The status has the ages of pages that the store knows.
func TestAgesStatus(t *testing.T) {
	var stats store.AgeStats
	stats.Classes[1], stats.Refaults[1], stats.Idle = 7, 3, 2
	got := agesStatus(stats)
	if len(got.Classes) != len(stats.Classes) || got.Idle != 2 {
		t.Fatalf("%+v", got)
	}
	from, to := store.AgeClass(1)
	if want := (status.Age{FromSeconds: from.Seconds(), ToSeconds: to.Seconds(), Pages: 7, Refaults: 3}); got.Classes[1] != want {
		t.Errorf("%+v, want %+v", got.Classes[1], want)
	}
}

// The directory of the mount goes, unless something is in it or it has gone before.
func TestRemoveDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "zram")
	k := &keeper{cfg: Config{Config: zramfsd.Config{Dir: dir}}}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := k.removeDir(); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("with a directory in it: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.removeDir(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}

func TestMachineMemory(t *testing.T) {
	if n := machineMemory(); n < 16<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}

// A call for an extra device ends when its answer comes, and when none can come.
func TestAskKeeper(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	w := &worker{news: newNewsWriter(writer), answers: make(chan hotAnswer, 4), leaving: make(chan struct{}), orphaned: make(chan struct{})}
	w.answers <- hotAnswer{Request: 8, Number: 3} // of a call before
	w.answers <- hotAnswer{Request: 10, Number: 5}
	if n, err := w.addDevice(10); n != 5 || err != nil {
		t.Errorf("device %d, %v", n, err)
	}
	w.answers <- hotAnswer{Request: 12, Errno: syscall.ENODEV}
	if err := w.removeDevice(12, 5); err != syscall.ENODEV {
		t.Errorf("the keeper's error: %v", err)
	}
	if err := w.removeDevice(14, fusefs.MaxExtra+1); err != syscall.ENODEV {
		t.Errorf("a number that no device has: %v", err)
	}
	w.answers <- hotAnswer{Request: 15}
	if err := w.removeDevice(15, fusefs.MaxExtra); err != nil {
		t.Errorf("the last number: %v", err)
	}
	w.asking.Lock()
	if err := w.setBacking(22, "/some"); err != syscall.EAGAIN {
		t.Errorf("a backing device while another call waits: %v", err)
	}
	answered := make(chan error)
	go func() {
		_, err := w.addDevice(24)
		answered <- err
	}()
	w.answers <- hotAnswer{Request: 24}
	w.asking.Unlock()
	if err := <-answered; err != nil {
		t.Errorf("a device once another call has its answer: %v", err)
	}
	close(w.orphaned)
	if _, err := w.addDevice(16); !errors.Is(err, syscall.EAGAIN) || !errors.Is(err, errSilent) {
		t.Errorf("without a keeper: %v", err)
	}
	w.orphaned = make(chan struct{})
	close(w.leaving)
	if _, err := w.addDevice(18); !errors.Is(err, fusefs.ErrLeft) {
		t.Errorf("of a worker that is to stop: %v", err)
	}
	w.asking.Lock()
	if _, err := w.addDevice(20); !errors.Is(err, fusefs.ErrLeft) {
		t.Errorf("of a worker that is to stop, while another call waits: %v", err)
	}
}

// The status has each kind of request, and the sizes of those that have pages.
func TestOperationStatus(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, telemetry.Size(1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	area, err := telemetry.Format(mem, 1)
	if err != nil {
		t.Fatal(err)
	}
	if m := minuteStatus(area); m != (status.Minute{}) {
		t.Errorf("rates over no time: %+v", m)
	}
	area.Slot(0).Note(&telemetry.Request{Op: telemetry.Write, Pages: 4, Bytes: 4 * 4096, Began: time.Now(), Took: time.Second, Errno: syscall.ENOSPC})
	all, batches := operationStatus(area)
	var names, sized []string
	for _, o := range all {
		names = append(names, o.Op)
	}
	for _, b := range batches {
		sized = append(sized, b.Op)
	}
	if !slices.Equal(names, []string{"read", "write", "discard", "flush"}) || !slices.Equal(sized, []string{"read", "write", "discard"}) {
		t.Fatalf("operations %q, batches of %q", names, sized)
	}
	w := all[telemetry.Write]
	if w.Requests != 1 || w.Pages != 4 || w.Bytes != 4*4096 || w.Errors != 1 || w.SecondsTotal != 1 || w.Max != 1e9 || w.P50 < 9e8 || w.P50 > w.P999 || w.P999 != w.Max {
		t.Errorf("write has %+v", w)
	}
	if !slices.Contains(batches[telemetry.Write].Sizes, [2]uint64{4, 1}) {
		t.Errorf("the sizes are %v", batches[telemetry.Write].Sizes)
	}
}
