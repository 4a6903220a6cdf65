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
	// oldestVersion is the oldest version of CUDA that is supported: 11.1 can register read-only
	// host memory.
	oldestVersion = 11010
	// oldestCapability is Volta's: its lanes can diverge and reconverge as the kernels expect.
	oldestCapability = 7
	// defaultLimit is longer than any work that we launch takes.
	defaultLimit = 5 * time.Second
)

// Properties describe a device. They never change.
type Properties struct {
	Ordinal int
	Name    string
	UUID    string // like GPU-01234567-89ab-cdef-0123-456789abcdef, or MIG- of a part of one
	PCI     string // like 0000:3b:00.0
	// Major and Minor are the compute capability.
	Major, Minor    int
	Multiprocessors int
	ClockKHz        int
	L2              int   // bytes of the L2 cache
	Memory          int64 // bytes
	SharedPerBlock  int   // bytes that a block may declare
	ThreadsPerBlock int
	// Copiers is how many copies the device does in parallel to a kernel; with 2 one each way.
	Copiers int
	// MapsHost: kernels can access registered host memory. ReadOnlyHost: it can be registered for
	// reading alone.
	MapsHost, ReadOnlyHost bool
}

// Check returns the error with which Open would refuse the device, or nil.
func (p Properties) Check() error {
	if p.Major < oldestCapability {
		return fmt.Errorf("%w: device %d, %s, has %d.%d", ErrDeviceTooOld, p.Ordinal, p.Name, p.Major, p.Minor)
	}
	return nil
}

// Options say how to use a context. The zero value selects the defaults.
type Options struct {
	// Limit is how long a Wait may take before the device counts as dead: 0 means five seconds.
	Limit time.Duration
}

// A Driver is a loaded library with its devices.
type Driver struct {
	lib     library
	version int          // immutable
	devices []Properties // immutable

	// silent: a call may still be under way that will never return.
	silent atomic.Bool

	mu     sync.Mutex // guards the following fields
	open   []*Context
	closed bool
}

// newDriver starts a library. If it fails it closes the library.
func newDriver(lib library) (*Driver, error) {
	d := &Driver{lib: lib}
	if err := d.start(); err != nil {
		return nil, errors.Join(err, lib.close())
	}
	return d, nil
}

func (d *Driver) start() error {
	// The version comes first: it is known without a device, and explains the errors of an old
	// driver.
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

// explain adds a remedy to the codes with which CUDA fails to start.
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

// Version returns the newest version of CUDA that the driver supports, such as "CUDA 12.2".
func (d *Driver) Version() string { return versionText(d.version) }

// Devices returns all devices of the driver, including those that Open would refuse.
func (d *Driver) Devices() []Properties { return slices.Clone(d.devices) }

// Open makes a context on a device, or refuses a device that is too old. A device may have several.
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

// Close closes the open contexts and the library. For a device that does not answer it does
// nothing.
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

// forget removes a closed context from the list.
func (d *Driver) forget(c *Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = slices.DeleteFunc(d.open, func(o *Context) bool { return o == c })
}
