// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// A Context is an opened device: its memory, streams and kernels.
type Context struct {
	driver *Driver
	device Properties    // immutable
	limit  time.Duration // immutable
	handle uint64        // immutable once newContext has returned, as is calls
	calls  calls

	work   chan request  // unbuffered; the context's goroutine receives
	quit   chan struct{} // closed by close: the goroutine ends
	ended  chan struct{} // closed when the goroutine has ended; its result is in last
	last   error         // the result of the end: written before ended is closed
	lost   error         // why the context's memory may still be in use: written before ended is closed
	silent chan struct{} // closed when the device has stopped answering

	closing sync.Once

	waits sync.WaitGroup // calls that wait outside the goroutine; none is added once ending

	mu     sync.Mutex // guards the following fields
	ending bool
	dead   error // why the context is dead, or nil
	hung   bool  // whether silent is closed
}

// A request is a function to be run by the context's goroutine.
type request struct {
	f    func(*Thread) error
	done chan error // of capacity 1
}

var doneChannels = sync.Pool{New: func() any { return make(chan error, 1) }}

func newContext(d *Driver, p Properties, o Options) (*Context, error) {
	c := &Context{
		driver: d, device: p, limit: o.Limit,
		work: make(chan request), quit: make(chan struct{}), ended: make(chan struct{}), silent: make(chan struct{}),
	}
	started := make(chan error, 1)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run is the context's goroutine. Its thread has had a context, so it stays locked and ends with
// the goroutine.
func (c *Context) run(started chan<- error) {
	runtime.LockOSThread()
	defer close(c.ended)
	handle, err := c.driver.lib.retain(c.device.Ordinal)
	if err != nil {
		started <- err
		return
	}
	c.handle = handle
	calls, err := c.driver.lib.attach(handle)
	if err != nil {
		started <- errors.Join(err, c.driver.lib.release(c.device.Ordinal))
		return
	}
	c.calls = calls
	t := &Thread{context: c, calls: calls, kernels: map[*ptx.Kernel]*loaded{}}
	started <- nil
	for {
		select {
		case r := <-c.work:
			r.done <- t.run(r.f)
		case <-c.quit:
			c.last = c.end(t)
			return
		}
	}
}

// end releases the context once no call waits in it, which for a silent device may be never. A dead
// one has reported its error before, and reports it again with every call.
func (c *Context) end(t *Thread) error {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.waits.Wait()
	dead := c.Err() != nil
	errs := []error{t.unloadAll()}
	t.calls.detach()
	err := c.driver.lib.release(c.device.Ordinal)
	var e *Error
	// This call, too, returns earlier errors of the device, and takes effect all the same.
	if !errors.As(err, &e) || !e.Code.Sticky() {
		c.lost = err
	}
	active, activeErr := c.driver.lib.active(c.device.Ordinal)
	if c.lost = errors.Join(c.lost, activeErr); active {
		c.lost = errors.Join(c.lost, errShared)
	}
	errs = append(errs, err, activeErr)
	if dead {
		return nil
	}
	return errors.Join(errs...)
}

// Properties returns the device's properties.
func (c *Context) Properties() Properties { return c.device }

// Do runs f on the context's thread and returns its error. Within f neither Do, Wait nor a pool may
// be used. When the device stops answering while f runs, Do returns ErrDead and f may still run.
func (c *Context) Do(f func(*Thread) error) error {
	if err := c.Err(); err != nil {
		return err
	}
	r := request{f, doneChannels.Get().(chan error)}
	select {
	case c.work <- r:
	case <-c.quit:
		return fmt.Errorf("context: %w", ErrClosed)
	case <-c.silent:
		return c.Err()
	}
	select {
	case err := <-r.done:
		doneChannels.Put(r.done)
		return err
	case <-c.silent:
		// The goroutine may still send to the channel.
		return c.Err()
	}
}

// Wait returns when all work before the event in its stream has ended, or with its error. An event
// that was never recorded counts as reached.
func (c *Context) Wait(e Event) error {
	if err := c.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	if c.ending {
		c.mu.Unlock()
		return fmt.Errorf("context: %w", ErrClosed)
	}
	c.waits.Add(1)
	c.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer c.waits.Done()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- c.driver.lib.wait(c.handle, e.handle)
	}()
	if err, ok := answered(c, done); ok {
		return c.check(err)
	}
	c.kill(fmt.Errorf("%w: cuEventSynchronize has not returned in %v", ErrTimeout, c.limit), true)
	return c.Err()
}

// limitParts is the number of parts in which a limit runs down. While the program is stopped, or
// its machine migrates, only one part elapses, however long that takes: the answer may have come in
// the meantime.
const limitParts = 10

// answered receives an answer, unless the limit elapses before, or the device is silent.
func answered[T any](c *Context, answer <-chan T) (a T, ok bool) {
	part := time.NewTicker(max(c.limit/limitParts, 1))
	defer part.Stop()
	for range limitParts {
		select {
		case a = <-answer:
			return a, true
		case <-c.silent:
			return a, false
		case <-part.C:
		}
	}
	return a, false
}

// Err returns nil, or ErrDead with its cause.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrDead, c.dead)
}

// check makes the context dead if an error is sticky, and returns the error.
func (c *Context) check(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && e.Code.Sticky() {
		c.kill(err, false)
	}
	return err
}

// kill makes the context dead; the first cause counts. A silent device gets no further call, for
// the call might not return.
func (c *Context) kill(cause error, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == nil {
		c.dead = cause
		c.calls.abandon()
	}
	if silent && !c.hung {
		c.hung = true
		c.driver.silent.Store(true)
		close(c.silent)
	}
}

// Close ends the context and all that was made in it. It may be called more than once.
func (c *Context) Close() error {
	err := c.close()
	c.driver.forget(c) // last: closing the driver waits for the contexts that it knows
	return err
}

// errShared: a released context still exists.
var errShared = errors.New("another context is open on it")

// Stop closes the context, as Close does, and returns nil only if the device no longer touches the
// program's memory: after a sticky error there is no other way to be sure of that. It fails if the
// device is silent, or has another context, which shares this one's memory.
func (c *Context) Stop() error {
	err := c.Close()
	select {
	case <-c.ended: // the end of the context undoes the rest
		if c.lost != nil {
			return fmt.Errorf("%w: %w", ErrBusy, c.lost)
		}
		return nil
	default:
		return fmt.Errorf("%w: %w", ErrBusy, errors.Join(err, c.Err()))
	}
}

func (c *Context) close() error {
	c.closing.Do(func() { close(c.quit) })
	if _, ok := answered(c, c.ended); ok {
		return c.last
	}
	select {
	case <-c.silent:
		return nil
	default:
		c.kill(fmt.Errorf("%w: the context has not ended in %v", ErrTimeout, c.limit), true)
		return c.Err()
	}
}
