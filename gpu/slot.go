// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// What kernels ask of memory that they load whole sectors of.
const (
	sectorBytes = 32
	quadBytes   = 16
)

// The events of a slot: when the stages of a round begin and end.
const (
	inBegin = iota
	inEnd
	computeBegin
	computeEnd
	outBegin
	outEnd
	eventCount
)

// A slot is what one piece at a time needs, for one lane. Before an error is told its streams are
// empty, or the engine is stopped, so nothing of it is used from one call to the next.
type slot struct {
	engine              *Engine // immutable, as are those up to encoder
	in, out             driver.Host
	deviceIn, deviceOut driver.Pointer
	events              [eventCount]driver.Event
	encoder             *lz4.Encoder         // for the pages that the kernel leaves
	proof               [codec.PageSize]byte // what an object becomes

	items     []uint32  // of the round that is under way
	path      Path      // of the piece
	regions   []part    // of the batch, where objects are not gathered
	pages     part      // the batch's, where they are copied straight
	used      []*region // that the piece counts as a user of
	spans     []span    // of the round
	ins, outs []move    // of the round
	writing   bool      // the device may be writing to the batch's pages
	times     bulk.Times
	began     time.Time
	// Of this piece: pages that are done; bytes there and back, and of both those that went straight.
	done, inBytes, outBytes, spared int64
}

// sizes are those of a slot's buffers.
type sizes struct{ in, out int }

// slotSizes makes room for so many pages each way, with what is told of each. Objects that are
// longer than pages make a round shorter.
func slotSizes(batch int) sizes {
	return sizes{
		in:  sectors(batch*(codec.PageSize+addressBytes+lengthBytes)) + 4*sectorBytes,
		out: sectors(batch*(codec.PageSize+kernels.ResultSize)) + 4*sectorBytes,
	}
}

// sectors rounds up.
func sectors(n int) int { return (n + sectorBytes - 1) / sectorBytes * sectorBytes }

func newSlot(e *Engine, size sizes) (*slot, error) {
	s := &slot{engine: e, encoder: new(lz4.Encoder), items: make([]uint32, 0, e.options.Batch)}
	if err := s.allocate(size); err != nil {
		return nil, errors.Join(err, s.free())
	}
	return s, nil
}

func (s *slot) allocate(size sizes) (err error) {
	e := s.engine
	if s.in, err = e.host.Get(size.in); err != nil {
		return err
	}
	if s.out, err = e.host.Get(size.out); err != nil {
		return err
	}
	if s.deviceIn, err = e.device.Get(size.in); err != nil {
		return err
	}
	if s.deviceOut, err = e.device.Get(size.out); err != nil {
		return err
	}
	return e.context.Do(func(t *driver.Thread) (err error) {
		for i := range s.events {
			if s.events[i], err = t.NewEvent(); err != nil {
				return err
			}
		}
		return nil
	})
}

// free gives back what the slot has.
func (s *slot) free() error {
	var errs []error
	for _, h := range []driver.Host{s.in, s.out} {
		if len(h.Bytes()) > 0 {
			errs = append(errs, s.engine.host.Put(h))
		}
	}
	for _, p := range []driver.Pointer{s.deviceIn, s.deviceOut} {
		if p != 0 {
			errs = append(errs, s.engine.device.Put(p))
		}
	}
	err := s.engine.context.Do(func(t *driver.Thread) error {
		for _, e := range s.events {
			if e != (driver.Event{}) {
				errs = append(errs, t.CloseEvent(e))
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// begin forgets what was.
func (s *slot) begin() {
	s.times, s.began = bulk.Times{}, time.Now()
	s.done, s.inBytes, s.outBytes, s.spared = 0, 0, 0, 0
}

func (s *slot) do(ctx context.Context, p bulk.Piece) error {
	s.know(p.Batch)
	if p.Op == bulk.Compress {
		return s.compress(ctx, p)
	}
	// The kernels are for one format each, and so are rounds.
	if err := s.read(ctx, p, codec.LZ4); err != nil {
		return err
	}
	return s.read(ctx, p, codec.Page)
}

// A round is what the streams do once: the slot's ins, a kernel, and the slot's outs.
type round struct {
	kernel program
	args   []uint64
	// cleared is how many bytes at the beginning of the device's buffer for the way back must be 0
	// before.
	cleared int
}

// run does a round and waits for its end.
func (s *slot) run(r round) error {
	st := s.engine.streams
	blocks := (len(s.items) + r.kernel.pages - 1) / r.kernel.pages
	// It is said before, since what Do runs may still run when Do has given up.
	s.writing = slices.ContainsFunc(s.outs, func(m move) bool { return m.straight })
	err := s.engine.context.Do(func(t *driver.Thread) error {
		return inOrder(
			func() error { return t.Record(s.events[inBegin], st.in) },
			func() error { return s.there(t) },
			func() error { return t.Record(s.events[inEnd], st.in) },

			func() error { return t.Await(st.compute, s.events[inEnd]) },
			func() error { return t.Record(s.events[computeBegin], st.compute) },
			func() error { return t.Fill(st.compute, s.deviceOut, 0, r.cleared) },
			func() error { return t.Launch(st.compute, r.kernel.kernel, blocks, r.args...) },
			func() error { return t.Record(s.events[computeEnd], st.compute) },

			func() error { return t.Await(st.out, s.events[computeEnd]) },
			func() error { return s.back(t) },
		)
	})
	return s.await(err, true)
}

// fetch copies more back, n bytes from off on.
func (s *slot) fetch(off, n int) error {
	s.outs = append(s.outs[:0], move{host: s.out.Slice(off, n), at: off})
	return s.await(s.engine.context.Do(s.back), false)
}

// await waits for what was queued, if that was no error, and takes the times: of all stages, or of
// the way back alone.
func (s *slot) await(err error, all bool) error {
	if err != nil {
		return err
	}
	if err := s.engine.context.Wait(s.events[outEnd]); err != nil {
		return err
	}
	s.writing = false
	s.count(s.outs, &s.outBytes)
	if all {
		s.count(s.ins, &s.inBytes)
	}
	return s.time(all)
}

// count adds the bytes of moves that were made.
func (s *slot) count(moves []move, bytes *int64) {
	for _, m := range moves {
		n := int64(len(m.host.Bytes()))
		if *bytes += n; m.straight {
			s.spared += n
		}
	}
}

// there queues the copies to the device.
func (s *slot) there(t *driver.Thread) error {
	for _, m := range s.ins {
		if err := t.CopyIn(s.engine.streams.in, s.deviceIn+driver.Pointer(m.at), m.host); err != nil {
			return err
		}
	}
	return nil
}

// back queues the copies back.
func (s *slot) back(t *driver.Thread) error {
	out := s.engine.streams.out
	if err := t.Record(s.events[outBegin], out); err != nil {
		return err
	}
	for _, m := range s.outs {
		if err := t.CopyOut(out, m.host, s.deviceOut+driver.Pointer(m.at)); err != nil {
			return err
		}
	}
	return t.Record(s.events[outEnd], out)
}

// inOrder makes calls until one fails.
func inOrder(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// time adds up what the stages took, of which the way back may have been the only one.
func (s *slot) time(all bool) error {
	var took bulk.Times // nobody's but of what Do runs, which may still run, until Do has answered well
	err := s.engine.context.Do(func(t *driver.Thread) (err error) {
		if took.D2H, err = t.Elapsed(s.events[outBegin], s.events[outEnd]); err != nil || !all {
			return err
		}
		if took.H2D, err = t.Elapsed(s.events[inBegin], s.events[inEnd]); err != nil {
			return err
		}
		took.Kernel, err = t.Elapsed(s.events[computeBegin], s.events[computeEnd])
		return err
	})
	if err != nil {
		return err
	}
	s.times.D2H += took.D2H
	s.times.H2D += took.H2D
	s.times.Kernel += took.Kernel
	return nil
}

// drain waits until nothing in the streams can touch the slot any more. A device that is dead does
// nothing more that anybody would see.
func (s *slot) drain() error {
	if s.engine.context.Err() != nil {
		return nil
	}
	st := s.engine.streams
	err := s.engine.context.Do(func(t *driver.Thread) error {
		return errors.Join(t.Record(s.events[inEnd], st.in), t.Record(s.events[computeEnd], st.compute), t.Record(s.events[outEnd], st.out))
	})
	for _, e := range []int{inEnd, computeEnd, outEnd} {
		err = errors.Join(err, s.engine.context.Wait(s.events[e]))
	}
	if err == nil {
		s.writing = false
	}
	return err
}
