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

// The granularity of the kernels' loads.
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

// A slot has the memory and events of one piece at a time, for one lane. Before Do returns an error
// the slot's streams are empty, or the engine is stopped, so the device never uses a slot between
// calls.
type slot struct {
	engine              *Engine // immutable, as are those up to encoder
	in, out             driver.Host
	deviceIn, deviceOut driver.Pointer
	events              [eventCount]driver.Event
	encoder             *lz4.Encoder // for same-filled pages

	items     []uint32  // of the round that is under way
	offsets   []int     // of its objects in the piece's part of the arena, when they are stored
	path      Path      // of the piece
	regions   []part    // of the batch, where objects are not gathered
	pages     part      // the batch's, where they are copied straight
	used      []*region // regions whose users include the piece
	spans     []span    // of the round
	ins, outs []move    // of the round
	writing   bool      // the device may be writing to the batch's pages
	times     bulk.Times
	began     time.Time
	// Of this piece: pages done; bytes to the device and back, and of both those copied straight.
	done, inBytes, outBytes, spared int64
}

// sizes are the sizes of a slot's buffers, in bytes.
type sizes struct{ in, out int }

// slotSizes returns the sizes for a number of pages each way, with the data on each. Objects longer
// than pages shorten a round.
func slotSizes(batch int) sizes {
	return sizes{
		in:  sectors(batch*(codec.PageSize+addressBytes+lengthBytes)) + 4*sectorBytes,
		out: sectors(batch*(codec.PageSize+kernels.ResultSize)) + 4*sectorBytes,
	}
}

// sectors rounds up to whole sectors.
func sectors(n int) int { return (n + sectorBytes - 1) / sectorBytes * sectorBytes }

func newSlot(e *Engine, size sizes) (*slot, error) {
	s := &slot{engine: e, encoder: new(lz4.Encoder), items: make([]uint32, 0, e.options.Batch), offsets: make([]int, 0, e.options.Batch+1)}
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

// free frees the slot's memory and events.
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

// begin clears the counts of the last piece.
func (s *slot) begin() {
	s.times, s.began = bulk.Times{}, time.Now()
	s.done, s.inBytes, s.outBytes, s.spared = 0, 0, 0, 0
}

func (s *slot) do(ctx context.Context, p bulk.Piece) error {
	s.know(p.Batch)
	if p.Op == bulk.Compress {
		return s.compress(ctx, p)
	}
	// A kernel reads one format, so a round does too.
	if err := s.read(ctx, p, codec.LZ4); err != nil {
		return err
	}
	return s.read(ctx, p, codec.Page)
}

// A round is a sequence of work in the streams: the slot's ins, launches, and the slot's outs.
type round struct {
	launches []launch
	// cleared is how many bytes at the beginning of the device's output buffer are set to 0 first.
	cleared int
}

// A launch is a kernel with its arguments.
type launch struct {
	kernel program
	args   []uint64
}

// run does a round and waits for its end.
func (s *slot) run(r round) error {
	st := s.engine.streams
	// Set before Do, since Do's function may still run after Do has given up.
	s.writing = slices.ContainsFunc(s.outs, func(m move) bool { return m.straight })
	err := s.engine.context.Do(func(t *driver.Thread) error {
		return inOrder(
			func() error { return t.Record(s.events[inBegin], st.in) },
			func() error { return s.there(t) },
			func() error { return t.Record(s.events[inEnd], st.in) },

			func() error { return t.Await(st.compute, s.events[inEnd]) },
			func() error { return t.Record(s.events[computeBegin], st.compute) },
			func() error { return t.Fill(st.compute, s.deviceOut, 0, r.cleared) },
			func() error { return s.launch(t, r.launches) },
			func() error { return t.Record(s.events[computeEnd], st.compute) },

			func() error { return t.Await(st.out, s.events[computeEnd]) },
			func() error { return s.back(t) },
		)
	})
	return s.await(err, true)
}

// launch queues the kernels.
func (s *slot) launch(t *driver.Thread, launches []launch) error {
	for _, l := range launches {
		blocks := (len(s.items) + l.kernel.pages - 1) / l.kernel.pages
		if err := t.Launch(s.engine.streams.compute, l.kernel.kernel, blocks, l.args...); err != nil {
			return err
		}
	}
	return nil
}

// fetch copies n more bytes back, from off on.
func (s *slot) fetch(off, n int) error {
	s.outs = append(s.outs[:0], move{host: s.out.Slice(off, n), at: off})
	return s.await(s.engine.context.Do(s.back), false)
}

// await waits for the queued work, unless err is set, and adds the times: of all stages, or of the
// way back alone.
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

// count adds the bytes of finished moves.
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

// time adds the times of the stages, or of the way back alone.
func (s *slot) time(all bool) error {
	var took bulk.Times // not s.times: after an error Do's function may still run
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

// drain waits until no work in the streams can touch the slot. A dead device's effects are not
// visible.
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
