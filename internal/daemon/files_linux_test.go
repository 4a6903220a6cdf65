// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// filesLeft lets the process open only some more files, until restore.
func filesLeft(t *testing.T, more int) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	var taken []int
	for range more + 1 {
		fd, err := unix.Dup(0)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, fd)
	}
	for _, fd := range taken {
		_ = unix.Close(fd)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(taken[more]), Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}
}

// openFDs counts the descriptors of the process.
func openFDs(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// closing returns a function that closes what was opened, unless that failed.
func closing[T interface{ Close() error }](opened T, err error) (func() error, error) {
	return opened.Close, err
}

// TestNoMoreFiles has each file fail that a step of a device's start opens, one after the other:
// the step says so, and leaves none open.
func TestNoMoreFiles(t *testing.T) {
	dir := t.TempDir()
	backed := filepath.Join(dir, "backing")
	kernel := filepath.Join(dir, "kmsg")
	if err := errors.Join(os.WriteFile(backed, make([]byte, 1<<20), 0o600), os.WriteFile(kernel, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Config: zramfsd.Config{Disksize: 1 << 20, Memory: store.MemoryMemfd, Backing: backed}, WorkArgs: func(zramfsd.Config) []string { return []string{"die"} }}
	k := &keeper{cfg: cfg, locks: true, logger: slog.New(slog.DiscardHandler), quiet: make(chan struct{}), extraDevices: extraDevices{keepers: map[int]*extraKeeper{}}}
	close(k.quiet)
	own, err := openProgram("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.File() == nil {
		t.Skip("the race detector's build has its images on the heap")
	}
	own.image = &image{memory: memory}
	k.image.Store(own.image)
	for name, open := range map[string]func() (end func() error, err error){
		"claim": func() (func() error, error) {
			release, err := claim(dir)
			return func() error { release(); return nil }, err
		},
		"program": func() (func() error, error) {
			p, err := openProgram("/proc/self/exe")
			return func() error { p.close(); return nil }, err
		},
		"program again": func() (func() error, error) {
			p, err := own.again()
			return func() error { p.close(); return nil }, err
		},
		"memory and backing device": func() (func() error, error) {
			k := &keeper{cfg: cfg}
			err := k.makeMemory()
			switch {
			case err != nil:
				err = errors.Join(err, k.takeApart())
			case k.image.Load().backing.Load() == nil:
				t.Error("there is no backing device, and no error")
			}
			return k.takeApart, err
		},
		"image": func() (func() error, error) {
			err := k.makeAnew(nil, 1<<20)
			if errors.Is(err, errDeviceEnded) { // all files are open
				err = nil
			}
			return func() error { return nil }, err
		},
		"locks":      func() (func() error, error) { return closing(k.serveLocks(own.image)) },
		"kernel log": func() (func() error, error) { return closing(openKernelLog(kernel)) },
		"extra device": func() (func() error, error) {
			err := k.startExtra(1, []string{"announce"})
			return func() error { return nil }, err
		},
		"worker": func() (func() error, error) {
			p := &process{}
			err := p.start(cfg, own, nil, nil)
			return func() error { _ = p.follow(func(workerMsg) {}); return nil }, err
		},
	} {
		t.Run(name, func(t *testing.T) { noMoreFiles(t, open) })
	}
}

func noMoreFiles(t *testing.T, open func() (end func() error, err error)) {
	for more := 0; ; more++ {
		before := openFDs(t)
		restore := filesLeft(t, more)
		end, err := open()
		restore()
		if err == nil {
			if more == 0 {
				t.Error("it opens nothing")
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("with %d more files: %v", more, err)
		}
		if after := openFDs(t); after > before {
			t.Fatalf("with %d more files: %d are open after %v, before %d", more, after, err, before)
		}
	}
}

// TestMakeAnew has the supervision answer requests for another image: a worker that is being
// replaced is asked again, other answers count, and so does an image that cannot be closed.
func TestMakeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		answers []error // nil for success
		closed  bool    // the image of before
		want    error
	}{
		"at once":          {answers: []error{nil}},
		"after an upgrade": {answers: []error{errUpgrading, errUpgrading, nil}},
		"refused":          {answers: []error{errUpgrading, errReplaced}, want: errReplaced},
		"not closed":       {answers: []error{nil}, closed: true, want: os.ErrClosed},
	} {
		k := &keeper{cfg: Config{Config: zramfsd.Config{Memory: store.MemoryMemfd}}, events: make(chan event), logger: slog.New(slog.DiscardHandler)}
		before, err := k.newImage(0)
		if err != nil {
			t.Fatal(err)
		}
		if before.memory.File() == nil {
			t.Skip("the race detector's build has its images on the heap")
		}
		k.image.Store(before)
		if c.closed {
			if err := before.memory.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var next *image
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			for _, why := range c.answers {
				r := (<-k.events).request
				next, r.why = r.image, why
				answer := control.UpgradeReport{}
				if why != nil {
					answer.Error = why.Error()
				}
				r.answer <- answer
			}
		}()
		if err := k.makeAnew(nil, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		<-answered
		if err := next.memory.Close(); (err == nil) != (c.answers[len(c.answers)-1] == nil) {
			t.Errorf("%s: the new image is left open: %v", name, err == nil)
		}
		if err := before.memory.Close(); c.want == nil && err == nil {
			t.Errorf("%s: the image of before is left open", name)
		}
	}
}
