// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// oldestVersion of CUDA that is known to the driver: 11.1 registers host memory that may only be
	// read.
	oldestVersion = 11010
	// oldestCapability is that of Volta, whose lanes can diverge and meet as the kernels expect.
	oldestCapability = 7
	// defaultLimit is how long nothing that we launch ever takes.
	defaultLimit = 5 * time.Second
)

// Properties are what a device is. They never change.
type Properties struct {
	Ordinal int
	Name    string
	UUID    string // like GPU-01234567-89ab-cdef-0123-456789abcdef, or MIG- of a part of one
	PCI     string // like 0000:3b:00.0
	// Major and Minor are the compute capability.
	Major, Minor    int
	Multiprocessors int
	ClockKHz        int
	L2              int   // bytes of its cache
	Memory          int64 // bytes
	SharedPerBlock  int   // bytes that a block may declare
	ThreadsPerBlock int
	// Copiers is how many copies the device does beside a kernel; with 2 one each way.
	Copiers int
	// MapsHost says that kernels can read registered host memory, ReadOnlyHost that it can be
	// registered for reading alone.
	MapsHost, ReadOnlyHost bool
}

// Check says why Open would refuse the device, if it would.
func (p Properties) Check() error {
	if p.Major < oldestCapability {
		return fmt.Errorf("%w: device %d, %s, has %d.%d", ErrDeviceTooOld, p.Ordinal, p.Name, p.Major, p.Minor)
	}
	return nil
}

// Options say how a context is to be used. The zero value is right.
type Options struct {
	// Limit is how long a Wait may take before the device counts as dead: 0 is five seconds.
	Limit time.Duration
}

// A Driver is a library that is loaded and sees devices.
type Driver struct {
	lib     library
	version int          // immutable
	devices []Properties // immutable

	// silent says that a call may still be under way which will not return.
	silent atomic.Bool

	mu     sync.Mutex // guards what follows
	open   []*Context
	closed bool
}

// newDriver starts a library. If it fails the library is closed.
func newDriver(lib library) (*Driver, error) {
	d := &Driver{lib: lib}
	if err := d.start(); err != nil {
		return nil, errors.Join(err, lib.close())
	}
	return d, nil
}

func (d *Driver) start() error {
	// The version comes first, for it is known without a device, and says more than what an old driver
	// answers then.
	version, err := d.lib.version()
	if err != nil {
		return explain(err)
	}
	if d.version = version; version < oldestVersion {
		return fmt.Errorf("%w, and knows %s", ErrDriverTooOld, versionText(version))
	}
	if err := d.lib.start(); err != nil {
		return explain(err)
	}
	n, err := d.lib.devices()
	if err != nil {
		return explain(err)
	}
	if n == 0 {
		return ErrNoDevice
	}
	for i := range n {
		p, err := d.lib.properties(i)
		if err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		d.devices = append(d.devices, p)
	}
	return nil
}

// explain says what a person can do about the codes with which CUDA does not begin.
func explain(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case NoDevice:
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	case StubLibrary:
		return fmt.Errorf("%w: what was found is the stub that programs are linked with: %w", ErrNoLibrary, err)
	case DriverMismatch, CompatNotSupported:
		return fmt.Errorf("%w than the library, or does not fit it: %w", ErrDriverTooOld, err)
	}
	return err
}

func versionText(v int) string { return fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10) }

// Version is the newest version of CUDA that the driver knows, such as "CUDA 12.2".
func (d *Driver) Version() string { return versionText(d.version) }

// Devices are all that the driver sees, also those that Open would refuse.
func (d *Driver) Devices() []Properties { return slices.Clone(d.devices) }

// Open makes a context on a device, or refuses one that is too old. One device may have several.
func (d *Driver) Open(device int, o Options) (*Context, error) {
	if device < 0 || device >= len(d.devices) {
		return nil, fmt.Errorf("%w: device %d of %d", ErrArgument, device, len(d.devices))
	}
	p := d.devices[device]
	if err := p.Check(); err != nil {
		return nil, err
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("driver: %w", ErrClosed)
	}
	c, err := newContext(d, p, o)
	if err != nil {
		return nil, fmt.Errorf("device %d, %s: %w", device, p.Name, err)
	}
	d.open = append(d.open, c)
	return c, nil
}

// Close closes the contexts that are still open, and the library. Of a device that does not answer
// everything is left as it is.
func (d *Driver) Close() error {
	d.mu.Lock()
	open, closed := d.open, d.closed
	d.open, d.closed = nil, true
	d.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, c := range open {
		errs = append(errs, c.close())
	}
	if !d.silent.Load() {
		errs = append(errs, d.lib.close())
	}
	return errors.Join(errs...)
}

// forget takes a context that was closed off the list.
func (d *Driver) forget(c *Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = slices.DeleteFunc(d.open, func(o *Context) bool { return o == c })
}
