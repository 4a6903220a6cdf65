// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// quietLogs are logs whose lines text returns, once they are closed.
func quietLogs(t *testing.T) (logs *Logs, text func() []string) {
	t.Helper()
	sink := &gatedSink{gate: make(chan struct{})}
	close(sink.gate)
	logs = newLogs(sink)
	return logs, func() []string {
		if err := logs.Close(); err != nil {
			t.Error(err)
		}
		return sink.text()
	}
}

// One of two processes that mount on a directory has the claim on it, until it is done.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		release, err := claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		before := openFDs(t)
		if _, err := claim(dir); !errors.Is(err, errClaimed) || openFDs(t) != before {
			t.Errorf("a second claim: %v, and %d files more", err, openFDs(t)-before)
		}
		release()
	}
	if _, err := claim(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a claim on nothing: %v", err)
	}
}

// A keeper that locks no image has no socket for its worker.
func TestServeLocks(t *testing.T) {
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, locks := range []bool{false, true} {
		k := &keeper{locks: locks, logger: slog.New(slog.DiscardHandler)}
		f, err := k.serveLocks(&image{memory: memory})
		if err != nil || (f != nil) != locks {
			t.Errorf("locks %v: %v, %v", locks, f, err)
		}
		if f != nil {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A damaged superblock is restored from the copy, once, and the log says so.
func TestSuperblockIsRestored(t *testing.T) {
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.File() == nil {
		t.Skip("the race detector's build has its images on the heap")
	}
	s, err := store.Create(memory, store.Config{Disksize: 1 << 20, Algorithm: parse(t, "lz4")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	logger := slog.New(slog.NewTextHandler(&said, nil))
	i := &image{memory: memory}
	i.keepSuperblock(logger)
	if _, err := memory.File().WriteAt(make([]byte, 8), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		i.restoreSuperblock(logger)
	}
	if err := memory.Check(); err != nil || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "was damaged and is restored") {
		t.Errorf("%v, said %q", err, said.String())
	}
	if _, err := memory.File().WriteAt(make([]byte, 8), 0); err != nil {
		t.Fatal(err)
	}
	k := &keeper{logger: logger}
	k.image.Store(i)
	if f := k.imageFile(); f != memory.File() || memory.Check() != nil { // for a command
		t.Errorf("a command reads %v: %v", f, memory.Check())
	}
	if err := memory.Close(); err != nil {
		t.Fatal(err)
	}
	if i.restoreSuperblock(logger); !strings.Contains(said.String(), "the superblock of the image is damaged: ") {
		t.Errorf("without a file it said %q", said.String())
	}
}

// A device without a size takes another backing device, or none, and says where its path led.
func TestKeeperSetsBacking(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, make([]byte, 1<<20), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	k := &keeper{logger: slog.New(slog.DiscardHandler)}
	i := &image{}
	k.image.Store(i)
	for _, c := range []struct {
		path, want string
		errno      syscall.Errno
	}{{link, file, 0}, {filepath.Join(dir, "none"), "", syscall.ENOENT}, {link, file, syscall.EBUSY}, {"", "", 0}, {file, file, 0}, {"", "", 0}} {
		i.disksize = 0
		if c.errno == syscall.EBUSY {
			i.disksize, c.want = 1<<20, ""
		}
		if path, errno := k.setBacking(c.path); path != c.want || errno != c.errno {
			t.Errorf("%q: %q, %v; want %q, %v", c.path, path, errno, c.want, c.errno)
		}
	}
	if b := i.backing.Load(); b != nil {
		t.Errorf("%+v is left", b)
	}
	i.disksize = 0
	k.resizing.Lock() // the worker has answered reset, and the keeper is about to know
	time.AfterFunc(2*resizePause, k.resizing.Unlock)
	if path, errno := k.setBacking(""); path != "" || errno != 0 {
		t.Errorf("right after reset: %q, %v", path, errno)
	}
}

// A worker takes the backing device that its environment names, and no descriptor of other things.
func TestWorkerBacking(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := openBacking(path)
	if err != nil {
		t.Fatal(err)
	}
	const passed = 200
	for i, f := range []*os.File{b.file, b.secret.File()} {
		if err := unix.Dup3(int(f.Fd()), passed+i, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"x", "-1", strconv.Itoa(locksFD - 1)} {
		t.Setenv(backingVariable, text)
		if got, err := workerBacking(); got != nil || err == nil || !strings.Contains(err.Error(), "want a descriptor") {
			t.Errorf("descriptor %s: %v, %v", text, got, err)
		}
	}
	t.Setenv(backingVariable, "")
	if got, err := workerBacking(); got != nil || err != nil {
		t.Errorf("without a backing device: %v, %v", got, err)
	}
	if err := unix.Dup3(passed, passed+2, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Setenv(backingVariable, strconv.Itoa(passed+2)) // without a key
	if got, err := workerBacking(); got != nil || err == nil {
		t.Errorf("without a key: %v, %v", got, err)
	}
	t.Setenv(backingVariable, strconv.Itoa(passed))
	got, err := workerBacking()
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
}

// A worker counts its own processor time, has a limit that was set later for the store to take, and
// logs what fusefs says.
func TestWorkerParts(t *testing.T) {
	logs, said := quietLogs(t)
	w := &worker{cfg: Config{Config: zramfsd.Config{MemLimit: 1 << 20}}, logs: logs, log: logs.Logger()}
	if own := w.cpuTime(); own <= 0 {
		t.Errorf("it has taken %v", own)
	}
	w.facts.CPU, w.keeperTime = time.Hour, time.Minute // of those that have ended, and of the keeper when it was seen last
	if all := w.cpuTime(); all < time.Hour+time.Minute || all > time.Hour+2*time.Minute {
		t.Errorf("all have taken %v", all)
	}
	counters, err := (fusefs.Files{}).Counters()
	if counters == nil {
		t.Fatal(err)
	}
	defer counters.Close()
	w.counters = counters
	if got := w.storeConfig().MemLimit; got != w.cfg.MemLimit {
		t.Errorf("the limit is %d", got)
	}
	for _, chosen := range []uint64{0, 5} {
		w.settings.MemLimit = &chosen
		if got := w.storeConfig().MemLimit; got != chosen {
			t.Errorf("with one of %d that was chosen the limit is %d", chosen, got)
		}
	}
	w.logf("page %d", 7)
	if got := said(); !slices.Equal(got, []string{"WARN page 7"}) {
		t.Errorf("logged %q", got)
	}
}

// The keeper notes what is not protected, and logs it.
func TestKeeperSaysReady(t *testing.T) {
	require.FUSE(t)
	session, err := fusefs.NewSession(t.TempDir(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	logs, said := quietLogs(t)
	k := &keeper{cfg: Config{Config: zramfsd.Config{Algorithm: parse(t, "lz4")}}, session: session, logger: logs.Logger()}
	k.sayReady(&status.Report{Protections: []status.Protection{
		{Name: "good", State: status.OK}, {Name: "bad", State: status.Warn, Detail: "why"},
	}})
	if got := strings.Join(said(), "\n"); !strings.Contains(got, "not protected") || strings.Contains(got, "good") {
		t.Errorf("logged %q", got)
	}
	c, err := session.Files().Counters()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []telemetry.Kind
	all, _ := c.Area.Events(0)
	for _, e := range all {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []telemetry.Kind{telemetry.Started, telemetry.Unprotected}) || all[1].Text != "bad: warn: why" {
		t.Errorf("noted %+v", all)
	}
	if err := errors.Join(c.Close(), session.Close()); err != nil {
		t.Error(err)
	}
}

// A request for another size that kills its workers is given up after some, and one that fails at
// once; one that another worker took over is not counted.
func TestFailedResize(t *testing.T) {
	var f failedResize
	dies := fmt.Errorf("%w: killed", errNotServed)
	for n := 1; n <= resizeDeaths; n++ {
		f.note(errReplaced)
		f.note(errDeviceEnded)
		if f.note(dies); f.final != (n == resizeDeaths) {
			t.Errorf("given up after %d deaths: %v", n, f.final)
		}
	}
	for _, why := range []error{errors.New("no memory"), fmt.Errorf("%w: %w", errNotServed, &status.StartError{})} {
		f = failedResize{}
		if f.note(why); !f.final {
			t.Errorf("tried again after: %v", why)
		}
	}
}
