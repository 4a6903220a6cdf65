// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"slices"
	"sync"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// streamDepth is how many entries a stream holds before calls block.
const streamDepth = 1024

// simStream does the work in its queue, in a goroutine of its own, until the queue is closed.
type simStream struct {
	context *simContext
	queue   chan func()
	over    chan struct{} // closed when the queue is done
}

func (s *simStream) run() {
	defer close(s.over)
	for f := range s.queue {
		s.context.device.pass()
		f()
	}
}

// simEvent is an event: its last recording. Any goroutine may use a handle.
type simEvent struct {
	mu   sync.Mutex // guards last
	last *moment    // nil if it was never recorded
}

// A moment is a point in a stream.
type moment struct {
	passed chan struct{} // closed when it has come
	at     time.Time     // written before passed is closed
}

func (e *simEvent) moment() *moment {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

func (c *simContext) newStream() (uint64, error) {
	if err := c.enter("cuStreamCreate"); err != nil {
		return 0, err
	}
	s := &simStream{c, make(chan func(), streamDepth), make(chan struct{})}
	go s.run()
	h := c.Simulator.handle()
	c.table.Lock()
	defer c.table.Unlock()
	c.streams[h] = s
	return h, nil
}

func (c *simContext) closeStream(h uint64) error {
	if err := c.enter("cuStreamDestroy"); err != nil {
		return err
	}
	c.table.Lock()
	defer c.table.Unlock()
	s := c.streams[h]
	if s == nil {
		return newError("cuStreamDestroy", InvalidHandle, nil)
	}
	delete(c.streams, h)
	close(s.queue)
	return nil
}

// stream begins a call that adds to a stream.
func (c *simContext) stream(call string, h uint64) (*simStream, error) {
	if err := c.enter(call); err != nil {
		return nil, err
	}
	c.table.Lock()
	defer c.table.Unlock()
	if s := c.streams[h]; s != nil {
		return s, nil
	}
	return nil, newError(call, InvalidHandle, nil)
}

func (c *simContext) newEvent() (uint64, error) {
	if err := c.enter("cuEventCreate"); err != nil {
		return 0, err
	}
	h := c.Simulator.handle()
	c.table.Lock()
	defer c.table.Unlock()
	c.events[h] = new(simEvent)
	return h, nil
}

func (c *simContext) closeEvent(h uint64) error {
	if err := c.enter("cuEventDestroy"); err != nil {
		return err
	}
	c.table.Lock()
	defer c.table.Unlock()
	if c.events[h] == nil {
		return newError("cuEventDestroy", InvalidHandle, nil)
	}
	delete(c.events, h)
	return nil
}

func (c *simContext) event(call string, h uint64) (*simEvent, error) {
	c.table.Lock()
	defer c.table.Unlock()
	if e := c.events[h]; e != nil {
		return e, nil
	}
	return nil, newError(call, InvalidHandle, nil)
}

func (c *simContext) record(event, stream uint64) error {
	s, err := c.stream("cuEventRecord", stream)
	if err != nil {
		return err
	}
	e, err := c.event("cuEventRecord", event)
	if err != nil {
		return err
	}
	m := &moment{passed: make(chan struct{})}
	e.mu.Lock()
	e.last = m
	e.mu.Unlock()
	// Points are reached in a broken context too, so that waits end.
	s.queue <- func() {
		m.at = time.Now()
		close(m.passed)
	}
	return nil
}

func (c *simContext) await(stream, event uint64) error {
	s, err := c.stream("cuStreamWaitEvent", stream)
	if err != nil {
		return err
	}
	e, err := c.event("cuStreamWaitEvent", event)
	if err != nil {
		return err
	}
	if m := e.moment(); m != nil {
		s.queue <- func() { <-m.passed }
	}
	return nil
}

func (m *moment) over() bool {
	if m == nil {
		return true
	}
	select {
	case <-m.passed:
		return true
	default:
		return false
	}
}

func (c *simContext) wait(event uint64) error {
	const call = "cuEventSynchronize"
	if err := c.enter(call); err != nil {
		return err
	}
	e, err := c.event(call, event)
	if err != nil {
		return err
	}
	if m := e.moment(); m != nil {
		<-m.passed
	}
	if b := c.fault(); b != nil {
		return newError(call, b.Code, b)
	}
	return nil
}

func (c *simContext) elapsed(from, to uint64) (time.Duration, error) {
	const call = "cuEventElapsedTime"
	if err := c.enter(call); err != nil {
		return 0, err
	}
	f, err := c.event(call, from)
	if err != nil {
		return 0, err
	}
	t, err := c.event(call, to)
	if err != nil {
		return 0, err
	}
	a, b := f.moment(), t.moment()
	switch {
	case a == nil || b == nil:
		return 0, newError(call, InvalidHandle, nil)
	case !a.over() || !b.over():
		return 0, newError(call, NotReady, nil)
	}
	return b.at.Sub(a.at), nil
}

// enqueue adds work to a stream, traced as did; what is its name for Fail.
func (c *simContext) enqueue(did Span, stream uint64, what string, f func() error) error {
	s, err := c.stream(did.Call, stream)
	if err != nil {
		return err
	}
	s.queue <- func() {
		if c.fault() != nil {
			return
		}
		if err := c.Simulator.enter(what); err != nil {
			c.breakWith(err)
			return
		}
		begin := time.Now()
		if err := f(); err != nil {
			c.breakWith(newError(what, simCode(err), err))
		}
		c.Simulator.note(did, begin)
	}
	return nil
}

func (c *simContext) copyIn(stream uint64, dst Pointer, src Host) error {
	return c.enqueue(Span{Call: "cuMemcpyHtoDAsync", Bytes: len(src.bytes)}, stream, "run copy", func() error {
		start := time.Now()
		defer c.pace(start, len(src.bytes))
		return c.memory.CopyIn(uint64(dst), src.bytes)
	})
}

func (c *simContext) copyOut(stream uint64, dst Host, src Pointer) error {
	return c.enqueue(Span{Call: "cuMemcpyDtoHAsync", Bytes: len(dst.bytes)}, stream, "run copy", func() error {
		start := time.Now()
		defer c.pace(start, len(dst.bytes))
		return c.memory.CopyOut(dst.bytes, uint64(src))
	})
}

func (c *simContext) fill(stream uint64, dst Pointer, v byte, n int) error {
	did := Span{Call: "cuMemsetD8Async", Bytes: n}
	return c.enqueue(did, stream, "run fill", func() error { return c.memory.Fill(uint64(dst), v, n) })
}

func (c *simContext) launch(stream, function uint64, k *ptx.Kernel, grid int, args []uint64) error {
	c.table.Lock()
	known := c.modules[function] == k
	c.table.Unlock()
	if !known {
		return newError("cuLaunchKernel", InvalidHandle, nil)
	}
	args = slices.Clone(args)
	did := Span{Call: "cuLaunchKernel", Kernel: k.Name(), Blocks: grid, Threads: k.Threads()}
	return c.enqueue(did, stream, "run kernel", func() error {
		_, err := c.runner.Launch(k, grid, k.Threads(), args...)
		return err
	})
}
