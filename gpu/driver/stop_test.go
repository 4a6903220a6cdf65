// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"testing"
	"time"
)

// A context that was stopped has written all that it ever will; of one that cannot be stopped that
// is said.
func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, s *Simulator, c *Context)
		sure   bool
	}{
		"alone":                              {func(*testing.T, *Simulator, *Context) {}, true},
		"broken":                             {func(_ *testing.T, s *Simulator, _ *Context) { s.Fail("run copy", 1, LaunchFailed) }, true},
		"with a module that does not unload": {func(_ *testing.T, s *Simulator, _ *Context) { s.Fail("cuModuleUnload", 1, Unknown) }, true},
		"shared": {func(t *testing.T, _ *Simulator, c *Context) {
			other, err := c.driver.Open(0, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close() })
		}, false},
		"shared with another driver": {func(t *testing.T, s *Simulator, _ *Context) {
			d, err := s.Driver()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Open(0, Options{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
		}, false},
		"not released":     {func(_ *testing.T, s *Simulator, _ *Context) { s.Fail("cuDevicePrimaryCtxRelease", 1, Unknown) }, false},
		"of unknown state": {func(_ *testing.T, s *Simulator, _ *Context) { s.Fail("cuDevicePrimaryCtxGetState", 1, Unknown) }, false},
		"held":             {func(t *testing.T, s *Simulator, _ *Context) { t.Cleanup(s.Hold(0)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Minute
			if name == "held" {
				limit = time.Second
			}
			s, context := open(t, SimulatedDevice{}, Options{Limit: limit})
			k := increment(t)
			var r room
			do(t, context, func(t *Thread) (err error) {
				if r, err = makeRoom(t, 1<<20); err != nil {
					return err
				}
				_, err = t.Load(k)
				return err
			})
			c.before(t, s, context)
			do(t, context, func(t *Thread) error { return t.CopyOut(r.stream, r.host, r.device) })
			err := context.Stop()
			if (err == nil) != c.sure || err != nil && !errors.Is(err, ErrBusy) {
				t.Errorf("stop answers %v", err)
			}
			if err == nil {
				clear(r.host.Bytes()) // which the race detector would see
			}
		})
	}
}

// slow are calls that allocate late.
type slow struct {
	calls
	begun chan<- struct{}
}

func (s slow) alloc(string, int) (Pointer, error) {
	s.begun <- struct{}{}
	time.Sleep(50 * time.Millisecond)
	return 1 << 20, nil
}

// Abandoned work writes to no memory in use, which the race detector would see.
func TestAllocationThatAnswersLate(t *testing.T) {
	_, c := open(t, SimulatedDevice{}, Options{})
	begun := make(chan struct{}, 1)
	do(t, c, func(t *Thread) error {
		t.calls = slow{t.calls, begun}
		return nil
	})
	answer := make(chan error, 1)
	go func() {
		_, err := NewDevicePool(c, 0).Get(1)
		answer <- err
	}()
	<-begun
	c.kill(ErrTimeout, true)
	if err := <-answer; !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-c.ended
}

// lastly is a library that notes what it is asked for after it was closed.
type lastly struct {
	library
	closed chan struct{}
	late   chan bool // whether it was closed while a context was given back
}

func (l lastly) close() error {
	close(l.closed)
	return l.library.close()
}

func (l lastly) release(device int) error {
	select {
	case <-l.closed:
		l.late <- true
	case <-time.After(100 * time.Millisecond):
		l.late <- false
	}
	return l.library.release(device)
}

// A driver that is closed while a context is being closed waits for that one: libcuda answers it in
// memory that goes with the driver.
func TestDriverClosesAfterItsContexts(t *testing.T) {
	s := NewSimulator(SimulatedDevice{})
	l := lastly{&simLibrary{s}, make(chan struct{}), make(chan bool, 1)}
	d, err := newDriver(l)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Open(0, Options{Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	<-c.quit // the context is about to end
	if err := errors.Join(d.Close(), <-closed); err != nil {
		t.Error(err)
	}
	if <-l.late {
		t.Error("the library was closed before the context was given back")
	}
}
