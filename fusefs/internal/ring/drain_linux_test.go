// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// inheritance is what outlives the serving processes.
func inheritance(t *testing.T, dir string, sizes ...int) []*os.File {
	t.Helper()
	device, err := mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := []*os.File{os.NewFile(uintptr(device), "fuse")}
	for _, size := range sizes {
		fd, err := unix.MemfdCreate("zramfs-ring", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(fd, int64(size)); err != nil {
			t.Fatal(err)
		}
		files = append(files, os.NewFile(uintptr(fd), "memory"))
	}
	// Closing the last descriptor aborts the connection, so no user waits for ever for a successor.
	limit := time.AfterFunc(deviceLife/3, func() {
		t.Error("it takes too long: the connection is aborted")
		files[0].Close()
	})
	t.Cleanup(func() {
		limit.Stop()
		files[0].Close()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		for _, f := range files[1:] {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return files
}

// scribbler runs scribble in a process of its own: the one that starts a successor
// must not use the mount, not even by a descriptor that the new process closes.
func scribbler(t *testing.T, path string) <-chan error {
	t.Helper()
	var out bytes.Buffer
	command := exec.Command("/proc/self/exe", "-test.run=^TestScribble$")
	command.Env = append(os.Environ(), scribbleVariable+"="+path)
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		err := command.Wait()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, &out)
		}
		done <- err
	}()
	return done
}

const scribbleVariable = "ZRAMFS_RING_SCRIBBLE"

// TestScribble is what scribbler starts; by itself it does nothing.
func TestScribble(t *testing.T) {
	path := os.Getenv(scribbleVariable)
	if path == "" {
		t.Skip("only for the tests of succession")
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	scribble(t, f, 8, time.Now().Add(3*time.Second))
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// One process after the other serves the same connection, under load, and no
// request is lost, refused or answered wrongly.
func TestSuccessorGoesOn(t *testing.T) {
	for name, config := range map[string]serveConfig{
		"":             {Entries: 8},
		"one entry":    {Entries: 1},
		"32 entries":   {Entries: 32},
		"offline CPUs": {Entries: 4, Offline: true},
	} {
		t.Run(name, func(t *testing.T) { goesOn(t, config, commandDrain) })
		t.Run(name+" about to take", func(t *testing.T) { goesOn(t, config, commandRace) })
	}
}

func goesOn(t *testing.T, config serveConfig, drain string) {
	require.Root(t)
	require.FUSE(t)
	require.Uring(t)
	cpus, err := ReadCPUs()
	if err != nil {
		t.Fatal(err)
	}
	config.Dir, config.Size, config.Uring, config.Inherited = t.TempDir(), fileSize, true, true
	size := Config{CPUs: cpus, Entries: config.Entries, Payload: maxWrite}.Size()
	files := inheritance(t, config.Dir, size, fileSize)
	served := startDevice(t, config, files...)
	done := scribbler(t, served.path())
	for served.ask(commandState).Requests[1] < 10 && len(done) == 0 {
		time.Sleep(time.Millisecond) // the kernel does not know the file yet
	}
	config.Adopt = true
	successions, longest := 0, time.Duration(0)
	for len(done) == 0 {
		time.Sleep(30 * time.Millisecond)
		start := time.Now()
		if s := served.ask(drain); s.Error != "" {
			t.Fatal(s.Error)
		}
		served.finish()
		served = startDevice(t, config, files...)
		if served.first.Error != "" {
			t.Fatal(served.first.Error)
		}
		successions, longest = successions+1, max(longest, time.Since(start))
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("%d successions, %v at most without service", successions, longest)
}

// drainRace drains while a worker has seen that no one drains and is about to take the request that
// it holds, if one comes.
func (s *server) drainRace() {
	var held *backlog
	for i, start := 0, time.Now(); held == nil; i++ {
		if time.Since(start) > drainPatience/20 {
			s.drain(drainPatience)
			return
		}
		b := &s.rings.workers[i%len(s.rings.workers)].backlog
		b.mu.Lock()
		if b.n.Load() > 0 {
			held = b
		} else {
			b.mu.Unlock()
		}
	}
	time.Sleep(20 * time.Millisecond) // it comes to the lock
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.drain(drainPatience)
	}()
	time.Sleep(20 * time.Millisecond) // all other entries get their requests
	held.mu.Unlock()
	<-done
}

// Rings that do not come to rest serve on. The hundredth request is held so long
// that they cannot, on a machine however busy.
func TestDrainGivesUp(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true, SlowEvery: 100, SlowMs: 5000})
	f := d.open()
	buf, err := memory(pageSize)
	if err != nil {
		t.Fatal(err)
	}
	var held sync.WaitGroup
	held.Go(func() {
		for range 100 {
			if _, err := f.ReadAt(buf, 0); err != nil {
				t.Error(err)
			}
		}
	})
	for d.ask(commandState).Slow == 0 {
		time.Sleep(time.Millisecond)
	}
	if s := d.ask(commandVain); !strings.Contains(s.Error, ErrDrain.Error()) {
		t.Errorf("Drain said %q, want %q", s.Error, ErrDrain)
	}
	within(t, patience, "I/O", func() {
		held.Wait()
		scribble(t, f, 4, time.Now())
	})
}

// A CPU that goes and comes back takes its worker's place with it: the kernel moves the
// thread elsewhere, and leaves it there. The rings come to rest all the same.
func TestDrainOfMovedWorkers(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true})
	f := d.open()
	scribble(t, f, 4, time.Now())
	if s := d.ask(commandFree); s.Error != "" {
		t.Fatal(s.Error)
	}
	end := sync.OnceFunc(d.abort)
	t.Cleanup(end) // before f is closed: the close would get no answer
	var st unix.Stat_t
	if err := unix.Stat(d.config.Dir, &st); err != nil { // which aborting looks at
		t.Fatal(err)
	}
	if s := d.ask(commandDrain); s.Error != "" {
		t.Error(s.Error)
	}
}

// Memory without drained rings cannot be adopted.
func TestAdoptWantsWhatDrainLeft(t *testing.T) {
	require.Uring(t)
	cpus, err := ReadCPUs()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{CPUs: cpus, Entries: 2, Payload: MinPayload, Handle: func(int, *Request) {}}
	if c.Memory, err = memory(c.Size()); err != nil {
		t.Fatal(err)
	}
	rings, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := rings.Adopt(-1); !errors.Is(err, ErrAdopt) {
		t.Errorf("Adopt said %v", err)
	}
	if err := rings.Close(); err != nil {
		t.Error(err)
	}
}

// A successor that lays the entries out for other CPUs than its predecessor, because
// one has come or gone meanwhile, would answer from the wrong buffers, in the wrong
// queues: it refuses.
func TestAdoptWantsTheSameCPUs(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []int
		entries       int
	}{
		"one has gone":       {[]int{0, 1}, []int{0}, 32}, // the buffers lie elsewhere
		"one of few has":     {[]int{0, 1}, []int{0}, 2},  // the rest lies where it lay
		"another is there":   {[]int{0}, []int{1}, 1},     // all does
		"one has come":       {[]int{0}, []int{0, 1}, 32},
		"one has come to it": {[]int{0}, []int{0, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			require.Uring(t)
			left := restingRings(t, c.before, c.entries, max(len(c.before), len(c.after)))
			next := newTestRings(t, c.after, c.entries, left)
			if err := next.Adopt(-1); !errors.Is(err, ErrAdopt) {
				t.Errorf("Adopt said %v", err)
			}
		})
	}
}

// restingRings leaves memory as rings do that have drained with a request in each
// entry, and that is large enough for entries on so many CPUs.
func restingRings(t *testing.T, online []int, entries, room int) []byte {
	t.Helper()
	mem, err := memory(headArea(room*entries+2) + (room*entries+2)*MinPayload)
	if err != nil {
		t.Fatal(err)
	}
	before := newTestRings(t, online, entries, mem)
	sqe := make([]byte, sqeSize)
	for i := range before.requests {
		before.requests[i].prepareRegister(sqe, -1)
		before.requests[i].waits.Store(true)
	}
	before.leave()
	return mem
}

// newTestRings makes rings that serve nothing, until the test ends, as on a machine
// with two CPUs.
func newTestRings(t *testing.T, online []int, entries int, mem []byte) *Rings {
	t.Helper()
	c := Config{CPUs: CPUs{queues: 2, online: online}, Entries: entries, Payload: MinPayload, Memory: mem,
		Handle: func(int, *Request) {}}
	rings, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rings.Close(); err != nil {
			t.Error(err)
		}
	})
	return rings
}
