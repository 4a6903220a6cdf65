// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// simDevice is a device and its context, which all that retain it share.
type simDevice struct {
	simulator  *Simulator
	spec       SimulatedDevice // immutable
	properties Properties      // immutable

	mu      sync.Mutex // guards the following fields
	gate    chan struct{}
	users   int
	context *simContext // nil where there are no users
	leaked  []string    // of the last context
}

func newSimDevice(s *Simulator, i int, spec SimulatedDevice) *simDevice {
	return &simDevice{simulator: s, spec: spec, properties: spec.properties(i)}
}

func (d *simDevice) retain() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.context == nil {
		memory := sim.NewMemory(d.properties.Memory)
		d.context = &simContext{
			Simulator: d.simulator, device: d, handle: d.simulator.handle(), memory: memory,
			runner:  &sim.Device{Memory: memory, Workers: d.spec.Workers, Seed: d.spec.Seed, Strict: d.spec.Strict},
			streams: map[uint64]*simStream{}, events: map[uint64]*simEvent{}, hosts: map[*byte]Host{},
			modules: map[uint64]*ptx.Kernel{},
		}
	}
	d.users++
	return d.context.handle, nil
}

// release ends the context with its last user. It returns once the streams have ended, with the
// sticky error, which every call returns.
func (d *simDevice) release() *Error {
	c := d.leave()
	if c == nil {
		return nil
	}
	c.end()
	return c.fault()
}

// leave removes a user and returns the context if it was the last one.
func (d *simDevice) leave() *simContext {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	c := d.context
	d.leaked, d.context = c.left(), nil
	return c
}

func (d *simDevice) current() *simContext {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.context
}

func (d *simDevice) leaks() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.context != nil {
		return d.context.left()
	}
	return d.leaked
}

func (d *simDevice) hold() (release func()) {
	gate := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = gate
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.gate == gate {
			d.gate = nil
		}
		close(gate)
	})
}

// pass waits while the device is held.
func (d *simDevice) pass() {
	for {
		d.mu.Lock()
		gate := d.gate
		d.mu.Unlock()
		if gate == nil {
			return
		}
		<-gate
	}
}

// simContext is a context, and its calls for any thread.
type simContext struct {
	*Simulator
	device *simDevice
	handle uint64
	memory *sim.Memory
	runner *sim.Device

	table   sync.Mutex // guards the maps
	streams map[uint64]*simStream
	events  map[uint64]*simEvent
	hosts   map[*byte]Host // allocated and registered, by their first byte
	modules map[uint64]*ptx.Kernel

	state  sync.Mutex // guards broken
	broken *Error     // the sticky error that every call returns
}

var _ calls = (*simContext)(nil)

// enter begins a call, which fails if the context is broken or the test has planned it.
func (c *simContext) enter(call string) error {
	err := c.Simulator.enter(call)
	if err != nil {
		if err.Code.Sticky() {
			c.breakWith(err)
		}
		return err
	}
	if b := c.fault(); b != nil {
		return newError(call, b.Code, b)
	}
	return nil
}

// breakWith records the first sticky error.
func (c *simContext) breakWith(err *Error) {
	c.state.Lock()
	defer c.state.Unlock()
	if c.broken == nil {
		c.broken = err
	}
}

func (c *simContext) fault() *Error {
	c.state.Lock()
	defer c.state.Unlock()
	return c.broken
}

// left names the allocations that are left.
func (c *simContext) left() []string {
	names := c.memory.Leaks()
	c.table.Lock()
	defer c.table.Unlock()
	for range c.streams {
		names = append(names, "a stream")
	}
	for range c.events {
		names = append(names, "an event")
	}
	for range c.modules {
		names = append(names, "a module")
	}
	slices.Sort(names)
	return names
}

func (c *simContext) end() {
	c.table.Lock()
	defer c.table.Unlock()
	for h, s := range c.streams {
		close(s.queue)
		delete(c.streams, h)
		<-s.over
	}
}

func (c *simContext) detach()  {}
func (c *simContext) abandon() {}

func (c *simContext) memoryInfo() (free, total int64, err error) {
	if err := c.enter("cuMemGetInfo"); err != nil {
		return 0, 0, err
	}
	free, total = c.memory.Info()
	return free, total, nil
}

func (c *simContext) alloc(name string, n int) (Pointer, error) {
	if err := c.enter("cuMemAlloc"); err != nil {
		return 0, err
	}
	p, err := c.memory.Alloc(sim.Spec{Name: name, Size: n})
	if err != nil {
		return 0, newError("cuMemAlloc", simCode(err), err)
	}
	return Pointer(p), nil
}

func (c *simContext) free(p Pointer) error {
	if err := c.enter("cuMemFree"); err != nil {
		return err
	}
	if err := c.memory.Free(uint64(p)); err != nil {
		return newError("cuMemFree", InvalidValue, err)
	}
	return nil
}

func (c *simContext) allocHost(n int) (Host, error) {
	if err := c.enter("cuMemHostAlloc"); err != nil {
		return Host{}, err
	}
	return c.host("cuMemHostAlloc", "pinned", make([]byte, n), sim.ReadWrite)
}

func (c *simContext) freeHost(h Host) error { return c.endHost("cuMemFreeHost", h) }

func (c *simContext) register(b []byte, readOnly bool) (Host, error) {
	if err := c.enter("cuMemHostRegister"); err != nil {
		return Host{}, err
	}
	access := sim.ReadWrite
	if readOnly {
		access = sim.ReadOnly
	}
	return c.host("cuMemHostRegister", "registered", b, access)
}

func (c *simContext) unregister(h Host) error { return c.endHost("cuMemHostUnregister", h) }

// host registers bytes with the device.
func (c *simContext) host(call, name string, b []byte, access sim.Access) (Host, error) {
	c.table.Lock()
	defer c.table.Unlock()
	if _, there := c.hosts[&b[0]]; there {
		return Host{}, newError(call, RegisteredAlready, nil)
	}
	p, err := c.memory.Map(sim.Spec{Name: name, Access: access}, b)
	if err != nil {
		return Host{}, newError(call, OutOfMemory, err)
	}
	h := Host{bytes: b, device: Pointer(p)}
	c.hosts[&b[0]] = h
	return h, nil
}

func (c *simContext) endHost(call string, h Host) error {
	if err := c.enter(call); err != nil {
		return err
	}
	c.table.Lock()
	defer c.table.Unlock()
	if len(h.bytes) == 0 {
		return newError(call, InvalidValue, nil)
	}
	known, ok := c.hosts[&h.bytes[0]]
	if !ok || known.device != h.device {
		return newError(call, NotRegistered, nil)
	}
	delete(c.hosts, &h.bytes[0])
	if err := c.memory.Free(uint64(h.device)); err != nil {
		return newError(call, InvalidValue, err)
	}
	return nil
}

func (c *simContext) load(k *ptx.Kernel) (module, function uint64, info KernelInfo, err error) {
	if err := c.enter("cuModuleLoadDataEx"); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Cause == nil {
			e.Cause = newKernelError(k.Name(), k.PTX(), "ptxas application ptx input, line 3; error   : planned")
		}
		return 0, 0, KernelInfo{}, err
	}
	if err := k.Verify(); err != nil {
		return 0, 0, KernelInfo{}, newError("cuModuleLoadDataEx", InvalidPTX, newKernelError(k.Name(), k.PTX(), err.Error()))
	}
	if err := c.enter("cuModuleGetFunction"); err != nil {
		return 0, 0, KernelInfo{}, err
	}
	h := c.Simulator.handle()
	c.table.Lock()
	defer c.table.Unlock()
	c.modules[h] = k
	return h, h, KernelInfo{Registers: len(k.Registers()), Shared: k.SharedBytes()}, nil
}

func (c *simContext) unload(module uint64) error {
	if err := c.enter("cuModuleUnload"); err != nil {
		return err
	}
	c.table.Lock()
	defer c.table.Unlock()
	if c.modules[module] == nil {
		return newError("cuModuleUnload", InvalidHandle, nil)
	}
	delete(c.modules, module)
	return nil
}

// pace waits until a copy of n bytes that began at start would have ended.
func (c *simContext) pace(start time.Time, n int) {
	if link := c.device.spec.Link; link > 0 {
		time.Sleep(time.Until(start.Add(time.Duration(float64(n) / float64(link) * float64(time.Second)))))
	}
}
