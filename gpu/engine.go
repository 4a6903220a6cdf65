// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// The bounds of Options and their defaults. Fewer than minBatch pages take longer to launch than to
// do.
const (
	defaultBatch = 4096
	maxBatch     = 1 << 17
	defaultSlots = 8
	maxSlots     = 64
	minBatch     = 256
)

// A Path is how the kernels read objects.
type Path uint8

// The paths. Measured selects one of the others for objects in registered memory; objects elsewhere
// are always Copied.
const (
	Measured Path = iota
	// Copied gathers objects in pinned memory, which is copied to the device.
	Copied
	// InPlace lets the kernels read objects where they are.
	InPlace
	// Straight copies ranges of registered memory to the device, objects and gaps alike, where the
	// gaps are small; other objects are Copied.
	Straight
)

// String returns the path's name.
func (p Path) String() string {
	return [...]string{"measured", "copied", "in place", "straight"}[min(p, Straight)]
}

// Options say how to use a device. The zero value selects the defaults.
type Options struct {
	Device int  // its number
	Batch  int  // pages a slot holds: 0 is 4096
	Slots  int  // in the ring: 0 is 8
	Path   Path // to objects in registered memory
	// Compress: objects are to be LZ4 blocks, so the engine can make them.
	Compress bool
	// Driver is passed to [driver.Driver.Open].
	Driver driver.Options
}

func (o Options) clean() (Options, error) {
	if o.Batch == 0 {
		o.Batch = defaultBatch
	}
	if o.Slots == 0 {
		o.Slots = defaultSlots
	}
	if o.Batch < 1 || o.Batch > maxBatch || o.Slots < 1 || o.Slots > maxSlots || o.Path > Straight {
		return o, fmt.Errorf("%w: batches of %d pages (1 to %d) in %d slots (1 to %d)", driver.ErrArgument, o.Batch, maxBatch, o.Slots, maxSlots)
	}
	return o, nil
}

// streams are shared by all slots.
type streams struct{ in, compute, out driver.Stream }

// An Engine does pieces of batches on one device.
type Engine struct {
	name    string          // immutable, as are those up to slots
	options Options         //
	context *driver.Context //
	device  *driver.DevicePool
	host    *driver.HostPool
	streams streams
	table   driver.Pointer // the page format's table, for its kernels
	kernels [kernelCount]program
	slots   []*slot      // one for each lane, and the lane's alone
	ending  func() error // called after Close, or nil; set before the engine is used

	path atomic.Uint32 // a Path: Measured until it is measured

	mu      sync.Mutex // guards the following fields
	regions []*region  // by address, none overlapping another
	stats   [3]Stats   // by bulk.Op
	inside  int        // pieces and measurements under way
	left    sync.Cond  // on mu: inside has fallen
	stopped bool       // no more pieces
}

// A program is a kernel and the number of pages that a block does at a time.
type program struct {
	kernel *ptx.Kernel
	pages  int
}

// The kernels, in the order of kernels.All.
const (
	lz4Compress = iota
	lz4Decompress
	lz4Prove
	lz4Verify
	pageDecompress
	pageVerify
	kernelCount
)

var (
	_ bulk.Engine    = (*Engine)(nil)
	_ bulk.Registrar = (*Engine)(nil)
)

// Open makes an engine of a device. The driver stays the caller's, and must not be closed before
// the engine.
func Open(d *driver.Driver, o Options) (*Engine, error) {
	o, err := o.clean()
	if err != nil {
		return nil, err
	}
	e := &Engine{name: fmt.Sprintf("gpu%d", o.Device), options: o}
	e.left.L = &e.mu
	if e.context, err = d.Open(o.Device, o.Driver); err != nil {
		return nil, err
	}
	if err := e.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", e.name, err), e.Close())
	}
	return e, nil
}

// prepare allocates all that the engine has on the device.
func (e *Engine) prepare() error {
	if err := e.loadKernels(); err != nil {
		return err
	}
	size := slotSizes(e.options.Batch)
	e.device, e.host = driver.NewDevicePool(e.context, size.in), driver.NewHostPool(e.context, size.in)
	err := e.context.Do(func(t *driver.Thread) error {
		for _, s := range []*driver.Stream{&e.streams.in, &e.streams.compute, &e.streams.out} {
			var err error
			if *s, err = t.NewStream(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for range e.options.Slots {
		s, err := newSlot(e, size)
		if err != nil {
			return err
		}
		e.slots = append(e.slots, s)
	}
	if err := e.loadTable(); err != nil {
		return err
	}
	e.path.Store(uint32(e.options.Path))
	if e.options.Path == Measured {
		return e.measure()
	}
	return nil
}

// loadKernels has the kernels translated. If the first piece waited for that, a planner would take
// the engine for slow, and give it nothing for gigabytes.
func (e *Engine) loadKernels() error {
	for i, k := range kernels.All() {
		kernel, err := k.Build()
		if err != nil {
			return err
		}
		e.kernels[i] = program{kernel, k.PagesPerBlock}
	}
	return e.context.Do(func(t *driver.Thread) error {
		for i, p := range e.kernels {
			if (i == lz4Compress || i == lz4Prove) && !e.options.Compress {
				continue
			}
			if _, err := t.Load(p.kernel); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadTable copies the table to the device, through the first slot.
func (e *Engine) loadTable() (err error) {
	table := kernels.PageTable()
	if e.table, err = e.device.Get(len(table)); err != nil {
		return err
	}
	s := e.slots[0]
	h := s.in.Slice(0, len(table))
	copy(h.Bytes(), table)
	err = e.context.Do(func(t *driver.Thread) error {
		return errors.Join(t.CopyIn(e.streams.in, e.table, h), t.Record(s.events[inEnd], e.streams.in))
	})
	return errors.Join(err, e.context.Wait(s.events[inEnd]))
}

// Name implements [bulk.Engine].
func (e *Engine) Name() string { return e.name }

// Properties returns the device's properties.
func (e *Engine) Properties() driver.Properties { return e.context.Properties() }

// Path returns how objects in registered memory are read.
func (e *Engine) Path() Path { return Path(e.path.Load()) }

// SetPath sets the path of future pieces, to compare paths. It refuses Measured.
func (e *Engine) SetPath(p Path) error {
	if p == Measured || p > Straight {
		return fmt.Errorf("%w: path %s", driver.ErrArgument, p)
	}
	e.path.Store(uint32(p))
	return nil
}

// Limits implements [bulk.Engine].
func (e *Engine) Limits() bulk.Limits {
	least := min(minBatch, e.options.Batch)
	return bulk.Limits{Lanes: e.options.Slots, Least: least, Min: least, Max: e.options.Batch}
}

// Can implements [bulk.Engine].
func (e *Engine) Can(op bulk.Op, id codec.ID) bool {
	if op == bulk.Compress {
		return e.options.Compress
	}
	return id == codec.LZ4 || id == codec.Page
}

// Do implements [bulk.Engine].
func (e *Engine) Do(ctx context.Context, lane int, p bulk.Piece) (bulk.Times, error) {
	s := e.slots[lane]
	s.begin()
	err := e.enter()
	if err == nil {
		err = s.do(ctx, p)
		if err != nil {
			err = errors.Join(err, e.drain(s))
		}
		err = e.leave(s, err)
	}
	e.note(p.Op, s, err)
	if err != nil {
		return s.times, fmt.Errorf("%s: %s: %w", e.name, p.Op, err)
	}
	return s.times, nil
}

// Close implements [bulk.Engine]. It frees all that the engine has on the device and unregisters
// what is still registered.
func (e *Engine) Close() error {
	err := e.free()
	if e.ending != nil {
		err = errors.Join(err, e.ending())
	}
	return err
}

// free frees all that the engine has.
func (e *Engine) free() error {
	var errs []error
	for _, s := range e.slots {
		errs = append(errs, s.free())
	}
	if e.table != 0 {
		errs = append(errs, e.device.Put(e.table))
	}
	e.mu.Lock()
	regions, stopped := e.regions, e.stopped
	e.regions = nil
	e.mu.Unlock()
	err := e.context.Do(func(t *driver.Thread) error {
		for _, r := range regions {
			errs = append(errs, t.UnregisterHost(r.host))
		}
		for _, s := range []driver.Stream{e.streams.in, e.streams.compute, e.streams.out} {
			if s != (driver.Stream{}) {
				errs = append(errs, t.CloseStream(s))
			}
		}
		return nil
	})
	errs = append(errs, err)
	if e.device != nil {
		errs = append(errs, e.device.Close(), e.host.Close())
	}
	// The errors of a dead context were reported before.
	dead := stopped || e.context.Err() != nil
	err = e.context.Close()
	if dead {
		return err
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("close %s: %w", e.name, err)
	}
	return nil
}
