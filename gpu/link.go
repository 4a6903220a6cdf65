// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// linkRounds is the number of rounds of a measurement; the best round counts.
const linkRounds = 3

// A Link is the speed of transfers between the CPU's memory and a device, in bytes per second: the
// limit of all work from host to host. A speed of 0 is one that the device does not offer.
type Link struct {
	// ToDevice and FromDevice are copies one way, from and to locked memory; BothWays is the sum of
	// both at once.
	ToDevice, FromDevice, BothWays float64
	// KernelReads and KernelWrites are accesses of kernels to locked memory without a copy.
	KernelReads, KernelWrites float64
}

// LinkMemory is the memory for measuring a link, and stays its owner's: locked memory, and as much
// of the device's. The contents of Out and of the device's memory are lost.
type LinkMemory struct {
	In, Out             driver.Host
	DeviceIn, DeviceOut driver.Pointer
}

// MeasureLink measures the link of a device with a number of successive copies of all the memory
// given, one way, the other, and both at once, and with kernels that read and write the host's
// memory. After it returns, with an error too, the device does not touch the memory, unless the
// context is dead: then that is certain only after [driver.Context.Stop].
func MeasureLink(ctx context.Context, c *driver.Context, m LinkMemory, copies int) (l Link, err error) {
	b := &linkBench{Context: c, memory: m, copies: copies}
	if err = b.open(); err == nil {
		l, err = b.measure(ctx)
	}
	if err = errors.Join(err, b.close()); err != nil {
		return Link{}, err
	}
	return l, nil
}

// The streams of a linkBench: one to the device and for kernels, one back.
const (
	linkIn = iota
	linkOut
	linkStreams
)

// A linkBench measures a link. It is used by one goroutine.
type linkBench struct {
	*driver.Context

	memory  LinkMemory
	copies  int
	streams [linkStreams]driver.Stream
	begin   driver.Event
	ends    [linkStreams]driver.Event // by stream
}

func (b *linkBench) open() error {
	return b.Do(func(t *driver.Thread) (err error) {
		for i := range b.streams {
			if b.streams[i], err = t.NewStream(); err != nil {
				return err
			}
			if b.ends[i], err = t.NewEvent(); err != nil {
				return err
			}
		}
		b.begin, err = t.NewEvent()
		return err
	})
}

// close waits until the streams are empty, even after an error, and ends them. A dead context has
// reported its error before.
func (b *linkBench) close() error {
	var errs []error
	for i, e := range b.ends {
		if e != (driver.Event{}) && b.Err() == nil {
			errs = append(errs, b.Do(func(t *driver.Thread) error { return t.Record(e, b.streams[i]) }), b.Wait(e))
		}
	}
	if b.Err() != nil {
		return nil
	}
	return errors.Join(append(errs, b.Do(func(t *driver.Thread) error {
		var errs []error
		for _, e := range append(b.ends[:], b.begin) {
			if e != (driver.Event{}) {
				errs = append(errs, t.CloseEvent(e))
			}
		}
		for _, s := range b.streams {
			if s != (driver.Stream{}) {
				errs = append(errs, t.CloseStream(s))
			}
		}
		return errors.Join(errs...)
	}))...)
}

// measure runs linkRounds rounds and keeps the best. The first one warms up.
func (b *linkBench) measure(ctx context.Context) (l Link, err error) {
	n, m := len(b.memory.In.Bytes()), b.memory
	if len(m.Out.Bytes()) != n || n < kernels.MemoryThreads*quadBytes || b.copies < 1 {
		return l, fmt.Errorf("%w: %d copies of %d and %d bytes", driver.ErrArgument, b.copies, n, len(m.Out.Bytes()))
	}
	all := []struct {
		best        *float64
		bytes       int
		there, back func(*driver.Thread) error
	}{
		{&l.ToDevice, n * b.copies, b.copyIn, nil},
		{&l.FromDevice, n * b.copies, nil, b.copyOut},
		{&l.BothWays, 2 * n * b.copies, b.copyIn, b.copyOut},
	}
	// Memory that no kernel has written is undefined and must not be copied.
	if _, err := b.timed(func(t *driver.Thread) error { return t.Fill(b.streams[linkIn], m.DeviceOut, 0, n) }, nil); err != nil {
		return l, err
	}
	for range linkRounds {
		for _, w := range all {
			if err := ctx.Err(); err != nil {
				return l, err
			}
			took, err := b.timed(w.there, w.back)
			if err != nil {
				return l, err
			}
			*w.best = max(*w.best, float64(w.bytes)/took.Seconds())
		}
	}
	if b.Properties().MapsHost {
		err = b.kernels(ctx, &l)
	}
	return l, err
}

func (b *linkBench) copyIn(t *driver.Thread) error {
	return b.repeat(func() error { return t.CopyIn(b.streams[linkIn], b.memory.DeviceIn, b.memory.In) })
}

func (b *linkBench) copyOut(t *driver.Thread) error {
	return b.repeat(func() error { return t.CopyOut(b.streams[linkOut], b.memory.Out, b.memory.DeviceOut) })
}

func (b *linkBench) repeat(f func() error) error {
	for range b.copies {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// timed queues work in the streams, which begin it together, and returns the time until the device
// has done both.
func (b *linkBench) timed(there, back func(*driver.Thread) error) (time.Duration, error) {
	err := b.Do(func(t *driver.Thread) error {
		err := inOrder(
			func() error { return t.Record(b.begin, b.streams[linkIn]) },
			func() error { return t.Await(b.streams[linkOut], b.begin) },
		)
		for i, work := range []func(*driver.Thread) error{there, back} {
			if err == nil && work != nil {
				err = work(t)
			}
			if err == nil {
				err = t.Record(b.ends[i], b.streams[i])
			}
		}
		return err
	})
	for _, end := range b.ends {
		if err == nil {
			err = b.Wait(end)
		}
	}
	if err != nil {
		return 0, err
	}
	return b.took()
}

// took returns the time after which both streams had ended.
func (b *linkBench) took() (time.Duration, error) {
	took := time.Nanosecond
	err := b.Do(func(t *driver.Thread) error {
		for _, end := range b.ends {
			d, err := t.Elapsed(b.begin, end)
			if err != nil {
				return err
			}
			took = max(took, d)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return took, nil
}

// kernels measures kernels that access the host's memory, and checks the bytes that they wrote.
func (b *linkBench) kernels(ctx context.Context, l *Link) error {
	var programs [2]*ptx.Kernel
	for i, build := range []func() (*ptx.Kernel, error){kernels.ReadMemory, kernels.WriteMemory} {
		var err error
		if programs[i], err = build(); err != nil {
			return err
		}
	}
	m, quads := b.memory, len(b.memory.In.Bytes())/quadBytes
	for range linkRounds {
		for i, w := range []struct {
			best *float64
			args []uint64
		}{
			{&l.KernelReads, []uint64{uint64(m.In.Device()), uint64(m.DeviceIn), uint64(quads)}},
			{&l.KernelWrites, []uint64{uint64(m.Out.Device()), uint64(quads)}},
		} {
			if err := ctx.Err(); err != nil {
				return err
			}
			took, err := b.timed(func(t *driver.Thread) error {
				return t.Launch(b.streams[linkIn], programs[i], MemoryBlocks(b.Properties(), quads*quadBytes), w.args...)
			}, nil)
			if err != nil {
				return err
			}
			*w.best = max(*w.best, float64(quads*quadBytes)/took.Seconds())
		}
	}
	for i := range quads {
		if got := binary.LittleEndian.Uint32(m.Out.Bytes()[i*quadBytes+4:]); got != uint32(i) {
			return fmt.Errorf("%w: a kernel wrote %d to the host's memory at %d, want %d", errResult, got, i*quadBytes+4, i)
		}
	}
	return nil
}

// MemoryBlocks returns how many blocks to launch of the kernels that only read or write n bytes of
// memory: enough to fill a device, and no more than have work. Four bytes for each of their threads
// are less than n.
func MemoryBlocks(p driver.Properties, n int) int {
	return max(1, min(8*p.Multiprocessors, n/quadBytes/kernels.MemoryThreads))
}
