// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const fileSize = 64 << 20

// scribble writes and reads at random from many threads, each in its own part of
// the file, and compares with what it wrote.
func scribble(tb testing.TB, f *os.File, threads int, until time.Time) (requests int64) {
	tb.Helper()
	var all sync.WaitGroup
	counts := make([]int64, threads)
	for i := range threads {
		all.Go(func() {
			part := int64(fileSize / threads)
			counts[i] = scribbleIn(tb, f, int64(i)*part, part, until, uint64(i))
		})
	}
	all.Wait()
	for _, n := range counts {
		requests += n
	}
	return requests
}

func scribbleIn(tb testing.TB, f *os.File, from, part int64, until time.Time, seed uint64) (requests int64) {
	rng := rand.New(rand.NewPCG(seed, 20))
	buf, err := memory(1 << 20)
	if err != nil {
		tb.Error(err)
		return 0
	}
	defer func() {
		if err := unix.Munmap(buf); err != nil {
			tb.Error(err)
		}
	}()
	model := make([]byte, part)
	for first := true; first || time.Now().Before(until); first = false {
		for range 16 {
			size := int64(512) << rng.IntN(12) // to 1 MiB
			size = min(size, part)
			at := rng.Int64N((part-size)/512+1) * 512
			b := buf[:size]
			if rng.IntN(2) == 0 {
				for j := range b {
					b[j] = byte(rng.Uint32())
				}
				copy(model[at:], b)
				_, err = f.WriteAt(b, from+at)
			} else {
				_, err = f.ReadAt(b, from+at)
				if err == nil && !bytes.Equal(b, model[at:at+size]) {
					tb.Errorf("%d bytes at %d are not what was written", size, from+at)
				}
			}
			if err != nil {
				tb.Error(err)
				return requests
			}
			requests++
		}
	}
	return requests
}

// seconds is how long to keep something up.
func seconds(n int) time.Time {
	if testing.Short() {
		return time.Now()
	}
	return time.Now().Add(time.Duration(n) * time.Second)
}

func TestRingsServe(t *testing.T) {
	for name, config := range map[string]serveConfig{
		"":             {},
		"one entry":    {Entries: 1},
		"64 entries":   {Entries: 64},
		"offline CPUs": {Offline: true},
		"unpinned":     {NoPin: true},
		"interrupted":  {Setup: setupSQE128 | setupCoopTaskrun},
		"slow":         {SlowEvery: 3, SlowMs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			config.Size, config.Uring = fileSize, true
			d := newDevice(t, config)
			if d.first.Error != "" {
				t.Fatal(d.first.Error)
			}
			f := d.open()
			n := scribble(t, f, 16, seconds(2))
			s := d.ask(commandState)
			if s.Requests[1] < uint64(n) {
				t.Errorf("%d requests by rings, %d by the device, of %d", s.Requests[1], s.Requests[0], n)
			}
			t.Logf("%d requests, %d by rings, %d by the device", n, s.Requests[1], s.Requests[0])
		})
	}
}

func TestGarbageCollectionGoesOn(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true})
	f := d.open()
	d.ask(commandGC)
	before := d.ask(commandState)
	scribble(t, f, 4, seconds(2))
	between := d.ask(commandState)
	time.Sleep(200 * time.Millisecond) // no requests
	after := d.ask(commandState)
	if between.GCs-before.GCs < 3 || after.GCs-between.GCs < 3 {
		t.Errorf("%d collections under load, %d in idleness", between.GCs-before.GCs, after.GCs-between.GCs)
	}
	t.Logf("%d collections under load, %d in idleness", between.GCs-before.GCs, after.GCs-between.GCs)
}

func TestRequestsAllocateNothing(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true})
	f := d.open()
	buf, err := memory(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	for _, size := range []int{pageSize, 1 << 20} {
		for range 200 {
			if _, err := f.ReadAt(buf[:size], 0); err != nil {
				t.Fatal(err)
			}
		}
		before := d.ask(commandState)
		for range n {
			if _, err := f.ReadAt(buf[:size], 0); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(buf[:size], 0); err != nil {
				t.Fatal(err)
			}
		}
		after := d.ask(commandState)
		idle := d.ask(commandState) // what asking costs
		got, asking := after.Mallocs-before.Mallocs, idle.Mallocs-after.Mallocs
		if got > asking+n/100 {
			t.Errorf("%d requests of %d bytes allocated %d objects, asking alone %d", 2*n, size, got, asking)
		}
	}
}

// The connection may be aborted with requests under way, some of them in a handler.
func TestAbortEndsWait(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true, SlowEvery: 5, SlowMs: 20})
	f := d.open()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			buf, err := memory(pageSize)
			for err == nil {
				_, err = f.ReadAt(buf, 0)
			}
			if !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
				t.Error(err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	d.abort()
	within(t, patience, "an aborted read", all.Wait)
	s := d.ask(commandAbort)
	if !s.Ended || s.EndError != "" {
		t.Errorf("the rings ended: %v, with %q", s.Ended, s.EndError)
	}
}

func TestUnmountEndsWaitAndLeavesNothing(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true, Entries: 64})
	f := d.open()
	scribble(t, f, 4, time.Now())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := d.ask(commandState)
	if err := unix.Unmount(d.config.Dir, 0); err != nil {
		t.Fatal(err)
	}
	s := d.ask(commandAbort)
	if !s.Ended || s.EndError != "" {
		t.Errorf("the rings ended: %v, with %q", s.Ended, s.EndError)
	}
	cpus, err := ReadCPUs()
	if err != nil {
		t.Fatal(err)
	}
	// A ring and an eventfd for each worker.
	if want := before.Files - 2*cpus.Workers(); s.Files != want {
		t.Errorf("%d descriptors, before %d, want %d", s.Files, before.Files, want)
	}
	if before.Bound != cpus.Workers() || s.Bound != 0 {
		t.Errorf("%d threads are bound to a CPU, %d before: want none, and %d before", s.Bound, before.Bound, cpus.Workers())
	}
}

// When the kernel refuses an entry, the device serves everything.
func TestRefusedEntriesLeaveTheDevice(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true, BadPayload: true})
	if !strings.Contains(d.first.Error, "invalid argument") {
		t.Errorf("Start said %q", d.first.Error)
	}
	within(t, patience, "I/O", func() {
		n := scribble(t, d.open(), 4, time.Now())
		if s := d.ask(commandState); s.Requests[1] != 0 || s.Requests[0] < uint64(n) {
			t.Errorf("%d requests by rings, %d by the device, of %d", s.Requests[1], s.Requests[0], n)
		}
	})
}

// A worker that cannot continue ends the others: requests from its CPU would wait for ever, without
// a message. Here the kernel refuses an answer.
func TestFailureEndsAll(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true})
	f := d.open()
	var st unix.Stat_t
	buf, err := memory(pageSize)
	if err := errors.Join(err, unix.Stat(d.config.Dir, &st)); err != nil { // which aborting looks at
		t.Fatal(err)
	}
	end := sync.OnceFunc(d.abort)
	t.Cleanup(end) // before f is closed: that would wait too
	d.ask(commandSpoil)
	asked := make(chan error, 1)
	go func() {
		_, err := f.ReadAt(buf, 0)
		asked <- err
	}()
	if s := d.ask(commandRings); !strings.Contains(s.Error, "commit to ring") {
		t.Errorf("the rings ended with %q", s.Error)
	}
	end()
	if err := <-asked; err == nil {
		t.Error("the request was answered")
	}
}

// A handler that waits delays no finished answer: a read and a write come to a worker at once, and
// the write waits.
func TestWaitingHandlerKeepsNoAnswer(t *testing.T) {
	d := newDevice(t, serveConfig{Size: fileSize, Uring: true, HoldWrites: true})
	f := d.open()
	var st unix.Stat_t
	if err := unix.Stat(d.config.Dir, &st); err != nil { // which counting looks at
		t.Fatal(err)
	}
	first := onCPU0(t, func(p []byte) (int, error) { return f.WriteAt(p, 0) })
	for d.ask(commandState).Slow == 0 {
		time.Sleep(time.Millisecond)
	}
	read := onCPU0(t, func(p []byte) (int, error) { return f.ReadAt(p, pageSize) })
	d.awaitWaiting(2)
	second := onCPU0(t, func(p []byte) (int, error) { return f.WriteAt(p, 2*pageSize) })
	d.awaitWaiting(3)
	d.ask(commandGo)
	select {
	case <-read:
	case <-time.After(patience):
		t.Error("the read is not answered while the write waits")
	}
	d.ask(commandGo)
	<-first
	<-second
}

// onCPU0 lets a thread of its own do something with a page on the first CPU.
func onCPU0(t *testing.T, do func(p []byte) (int, error)) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and the thread ends with us
		page, err := memory(pageSize)
		if err := errors.Join(err, bindTo(0)); err != nil {
			t.Error(err)
			return
		}
		if _, err = do(page); err != nil {
			t.Error(err)
		}
	}()
	return done
}
