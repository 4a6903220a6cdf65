// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// A copy reads the host's memory when the stream comes to it, not when it is called for.
func TestCopiesHappenWhenTheStreamComesToThem(t *testing.T) {
	s, c := open(t, SimulatedDevice{}, Options{})
	k := increment(t)
	var r room
	do(t, c, func(t *Thread) (err error) {
		r, err = makeRoom(t, 256)
		return err
	})
	number(r.host.Bytes(), 1)
	release := s.Hold(0)
	do(t, c, func(th *Thread) error {
		err := r.trip(th, k)
		if _, err := th.Elapsed(r.begin, r.done); !errors.Is(err, NotReady) {
			t.Errorf("time of what has not happened: %v", err)
		}
		return err
	})
	number(r.host.Bytes(), 500)
	release()
	if err := c.Wait(r.done); err != nil {
		t.Fatal(err)
	}
	if err := numbered(r.host.Bytes(), 501); err != nil {
		t.Error(err)
	}
}

// A stream that waits for an event of another does not run ahead of it, and what the event was
// recorded as later does not count.
func TestStreamsWaitForEachOther(t *testing.T) {
	s, c := open(t, SimulatedDevice{}, Options{})
	k := increment(t)
	var a, b room
	do(t, c, func(t *Thread) (err error) {
		if a, err = makeRoom(t, 1<<14); err != nil {
			return err
		}
		b, err = makeRoom(t, 1<<14)
		return err
	})
	number(a.host.Bytes(), 1)
	release := s.Hold(0)
	do(t, c, func(t *Thread) error {
		n := len(a.host.Bytes()) / 4
		return errors.Join(
			t.CopyIn(a.stream, a.device, a.host),
			t.Record(a.done, a.stream),
			t.Await(b.stream, a.done),
			t.Launch(b.stream, k, (n+threads-1)/threads, uint64(a.device), uint64(n)),
			t.CopyOut(b.stream, b.host, a.device),
			t.Record(b.done, b.stream),
			t.Await(a.stream, b.done),
			t.Fill(a.stream, a.device, 9, 4*n),
			t.Record(a.done, a.stream),
		)
	})
	release()
	if err := errors.Join(c.Wait(b.done), c.Wait(a.done), numbered(b.host.Bytes(), 2)); err != nil {
		t.Fatal(err)
	}
	var took time.Duration
	do(t, c, func(t *Thread) (err error) {
		took, err = t.Elapsed(b.done, a.done)
		return err
	})
	if took < 0 {
		t.Errorf("the later event is %v before the other one", took)
	}
}

// F043, H10: copies of three streams take less time together than one after the other, and events
// measure what a copy takes.
func TestF043H10StreamsGoOnBesideEachOther(t *testing.T) {
	const size, link = 1 << 20, 20 << 20 // 50 ms a copy
	_, c := open(t, SimulatedDevice{Link: link}, Options{})
	rooms := make([]room, 3)
	for i := range rooms {
		do(t, c, func(t *Thread) (err error) {
			rooms[i], err = makeRoom(t, size)
			return err
		})
	}
	copies := func(streams int) time.Duration {
		start := time.Now()
		do(t, c, func(t *Thread) error {
			var errs []error
			for i, r := range rooms {
				s := rooms[i%streams]
				errs = append(errs, t.Record(r.begin, s.stream), t.CopyIn(s.stream, r.device, r.host), t.Record(r.done, s.stream))
			}
			return errors.Join(errs...)
		})
		for _, r := range rooms {
			if err := c.Wait(r.done); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(start)
	}
	// Other processes on the cores may make it as slow as a copy, but not always.
	for try := 1; ; try++ {
		one, three := copies(1), copies(3)
		if three*3/2 <= one {
			break
		}
		if try == 5 {
			t.Fatalf("three copies in one stream take %v, in three %v", one, three)
		}
	}
	do(t, c, func(th *Thread) error {
		took, err := th.Elapsed(rooms[0].begin, rooms[0].done)
		if took < 45*time.Millisecond || took > 10*time.Second {
			t.Errorf("a copy of 50 ms takes %v by its events", took)
		}
		return err
	})
}

// A device that does not answer is dead after the limit; waiting callers are told, everything can
// be closed, and nothing is left when it answers after all.
func TestSilentDeviceIsDead(t *testing.T) {
	before := runtime.NumGoroutine()
	s := NewSimulator(SimulatedDevice{})
	d, err := s.Driver()
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Open(0, Options{Limit: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	k := increment(t)
	var r room
	do(t, c, func(t *Thread) (err error) {
		r, err = makeRoom(t, 64)
		return err
	})
	release := s.Hold(0)
	do(t, c, func(t *Thread) error { return r.trip(t, k) })
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := c.Wait(r.done); !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrDead) {
				t.Errorf("wait answers %v", err)
			}
		})
	}
	group.Wait()
	if err := c.Do(func(*Thread) error { return nil }); !errors.Is(err, ErrTimeout) {
		t.Errorf("do answers %v", err)
	}
	start := time.Now()
	if err := errors.Join(c.Close(), c.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("closing took %v", took)
	}
	release()
	for wait := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(wait) > 5*time.Second {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// A call that does not return delays no caller once the device is known to be silent, and when it
// does return, nothing is copied.
func TestDoReturnsFromSilentDevice(t *testing.T) {
	s, c := open(t, SimulatedDevice{}, Options{Limit: 50 * time.Millisecond})
	var r room
	do(t, c, func(t *Thread) (err error) {
		r, err = makeRoom(t, 64)
		return err
	})
	release := s.Hold(0)
	do(t, c, func(t *Thread) error { return t.Record(r.done, r.stream) })
	stuck, later, answer := make(chan struct{}), make(chan error, 1), make(chan error)
	go func() {
		answer <- c.Do(func(t *Thread) error {
			<-stuck
			later <- errors.Join(t.CopyIn(r.stream, r.device, r.host), t.CopyOut(r.stream, r.host, r.device))
			return nil
		})
	}()
	for range 2 {
		if err := c.Wait(r.done); !errors.Is(err, ErrTimeout) {
			t.Errorf("wait answers %v", err)
		}
	}
	if err := <-answer; !errors.Is(err, ErrTimeout) {
		t.Errorf("do answers %v", err)
	}
	before := s.Calls()
	close(stuck)
	if err := <-later; !errors.Is(err, ErrDead) {
		t.Errorf("copies that come later answer %v", err)
	}
	for _, call := range []string{"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"} {
		if s.Calls()[call] != before[call] {
			t.Errorf("%s is called when nobody waits for it any more", call)
		}
	}
	release()
}

func TestClosedContext(t *testing.T) {
	_, c := open(t, SimulatedDevice{}, Options{})
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(func(*Thread) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("do answers %v", err)
	}
	if err := c.Wait(Event{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("wait answers %v", err)
	}
	if _, err := c.driver.Open(1, Options{}); !errors.Is(err, ErrArgument) {
		t.Errorf("opening a device that is not there: %v", err)
	}
	if err := c.driver.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.driver.Open(0, Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("opening with a closed driver: %v", err)
	}
}

// H13: four goroutines launch a thousand kernels each in one context.
func TestH13FourGoroutinesOneContext(t *testing.T) {
	_, c := open(t, SimulatedDevice{Workers: 1}, Options{})
	if err := fourGoroutines(c, increment(t)); err != nil {
		t.Error(err)
	}
}

func fourGoroutines(c *Context, k *ptx.Kernel) error {
	const goroutines, launches = 4, 1000
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			var r room
			err := c.Do(func(t *Thread) (err error) {
				if r, err = makeRoom(t, 64); err != nil {
					return err
				}
				number(r.host.Bytes(), 1)
				return t.CopyIn(r.stream, r.device, r.host)
			})
			for range launches {
				err = errors.Join(err, c.Do(func(t *Thread) error { return t.Launch(r.stream, k, 1, uint64(r.device), 16) }))
			}
			errs[i] = errors.Join(err, c.Do(func(t *Thread) error {
				return errors.Join(t.CopyOut(r.stream, r.host, r.device), t.Record(r.done, r.stream))
			}), c.Wait(r.done), numbered(r.host.Bytes(), 1+launches))
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
