// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// RecompressConfig says what to recompress, and by what. A page has to meet all that is asked.
type RecompressConfig struct {
	// Algorithm makes the new objects. It has no other dictionary than Config.Algorithm. Objects
	// that it would make again as they are, as page:dense does of its own, are left alone.
	Algorithm codec.Algorithm
	Idle      bool // pages that MarkIdle marked and that were not accessed since
	Huge      bool // pages that are stored as they are, PageSize bytes
	// Age is how long pages were not accessed, known as for MarkIdle. 0 is any time.
	Age time.Duration
	// Threshold is the least length in bytes of an object, below PageSize; a new object is shorter.
	// 0 is no threshold.
	Threshold int
	// MaxPages is how many pages to try at the most, 0 for no bound.
	MaxPages uint64
	// Rest, if set, is called after each piece of about half a millisecond, without anything held.
	// It may sleep, to leave time to others.
	Rest func(sofar Recompressed)
}

// Recompressed says what Recompress has done.
type Recompressed struct {
	Tried          uint64 // pages
	Pages          uint64 // pages whose object became smaller
	SavedBytes     uint64 // that their objects are shorter by
	Incompressible uint64 // pages whose object did not
	Changed        uint64 // pages that a request wrote or discarded before the new object was ready
}

// Recompress makes the objects of pages smaller, the largest first, or one segment after the other
// where the store is full, while requests go on: a page that a request has written since stays as
// written. As in kernel zram an object is only replaced by one that takes less memory, a page where
// that fails is left alone until it is written again, and so is one whose object was replaced; a
// page that is tried is not idle any longer. Same-filled pages have no object. The age of a page
// does not change.
//
// Recompress fails with ErrConfig, with ErrFull where there is no memory for the old and the new
// objects, with the context's error once that is done, and with ErrClosed; what it did until then
// stays done. Calls may overlap, but gain nothing by it. It takes a worker from the requests for a
// batch at a time.
func (s *Store) Recompress(ctx context.Context, cfg RecompressConfig) (Recompressed, error) {
	r, err := s.NewRecompressor(cfg)
	if err != nil {
		return Recompressed{}, err
	}
	return r.Run(ctx, cfg.Age)
}

// NewRecompressor makes a [Recompressor] for what cfg says, all but for its age. The errors are
// those of Recompress.
func (s *Store) NewRecompressor(cfg RecompressConfig) (*Recompressor, error) {
	if cfg.Threshold < 0 || cfg.Threshold >= PageSize {
		return nil, fmt.Errorf("%w: threshold of %d bytes: want 0 to %d", ErrConfig, cfg.Threshold, PageSize-1)
	}
	if !s.cfg.Algorithm.Reads(cfg.Algorithm) {
		return nil, fmt.Errorf("%w: algorithm %s: another dictionary than the store was opened with",
			ErrConfig, cfg.Algorithm)
	}
	c, err := cfg.Algorithm.NewCompressor()
	if err != nil {
		return nil, err
	}
	r := &Recompressor{s: s, cfg: cfg, compressor: c, window: make([]candidate, 0, recompressWindow)}
	if s.cfg.Prefault != nil { // requests may wait for the worker that a run has
		s.cfg.Prefault([]any{&r.old, r.window, c})
	}
	return r, nil
}

// A Recompressor does again and again what Recompress does, and makes no garbage. One goroutine
// uses it.
type Recompressor struct {
	s          *Store
	cfg        RecompressConfig // its age is that of the present run
	compressor codec.Compressor
	window     []candidate
	old        [PageSize]byte // the object that is being recompressed
	did        Recompressed
	told       uint64 // pages tried when the statistics were last wanted
	gathers    bool   // the run goes by segment
}

// Run recompresses pages that were not accessed for age, as Recompress does.
func (r *Recompressor) Run(ctx context.Context, age time.Duration) (Recompressed, error) {
	s := r.s
	if !s.operators.TryRLock() {
		return Recompressed{}, ErrClosed
	}
	defer s.operators.RUnlock()
	r.cfg.Age, r.did, r.told = age, Recompressed{}, 0
	order := r.order(ctx, recompressWindow)
	err := order.run()
	if errors.Is(err, ErrFull) {
		err = r.bySegment(order)
	}
	s.ages.stale.Store(true)
	s.poke()
	return r.did, err
}

// bySegment recompresses the pages of one segment after the other, in the segment that is kept for
// it where a store is full: what the pages of a segment leave lies together, so the maintainer
// makes a segment of it again without moving much. By their length they would leave a little of
// each segment.
func (r *Recompressor) bySegment(order *bySize) error {
	r.gathers = true
	defer func() { r.gathers = false }()
	for n := range r.s.everUsed() {
		err := order.all(r.s.pagesOf(n, r.window[:0], r.wanted))
		if err == nil {
			err = order.pause()
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recompressWindow is for how many pages a Recompressor has room: 32 KiB, since a device keeps one.
const recompressWindow = 2 << 10

// pieceTime is how long a piece may have a worker.
const pieceTime = 500 * time.Microsecond

func (r *Recompressor) order(ctx context.Context, window int) *bySize {
	return &bySize{
		s: r.s, window: window, buffer: r.window, wanted: r.wanted,
		batch: func(window []candidate) (int, error) { return r.batch(ctx, window) },
		pause: func() error {
			if r.enough() {
				return errEnough
			}
			if r.cfg.Rest != nil {
				r.cfg.Rest(r.did)
			}
			if r.did.Tried-r.told >= windowPages { // the statistics are to show how far it is
				r.told = r.did.Tried
				r.s.ages.stale.Store(true)
				r.s.poke()
			}
			return r.s.packingEnds(ctx)
		},
	}
}

func (r *Recompressor) enough() bool { return r.cfg.MaxPages != 0 && r.did.Tried >= r.cfg.MaxPages }

// packingEnds returns why a call that packs is to end before it is done, or nil.
func (s *Store) packingEnds(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closing() {
		return ErrClosed
	}
	return nil
}

// wanted reports whether a page is to be recompressed.
func (r *Recompressor) wanted(page uint64, e image.Entry) bool {
	if !e.Object() || e.WrittenBack() || e.Clustered() || !e.Valid(r.s.image.Segments) || e.Length() < r.cfg.Threshold || r.cfg.Huge && e.Length() != PageSize {
		return false
	}
	if e.Codec() == r.cfg.Algorithm.Only() { // it would become what it is
		return false
	}
	b := r.s.ages.of(page)
	return b&ageSticky == 0 && (!r.cfg.Idle || b&ageIdle != 0) && oldEnough(b, r.cfg.Age)
}

// batch recompresses some pages of a window, for a short time, and returns how many.
func (r *Recompressor) batch(ctx context.Context, window []candidate) (n int, err error) {
	w := r.s.acquireLast()
	defer w.Release()
	w.gathers = r.gathers
	for begun := time.Now(); n < len(window) && !r.enough() && (n == 0 || time.Since(begun) < pieceTime); n++ {
		if err := r.s.packingEnds(ctx); err != nil {
			return n, err
		}
		if err := r.try(w, window[n].page); err != nil {
			return n, err
		}
	}
	return n, nil
}

// acquireLast takes the last free worker: what is cold comes to lie apart from what requests write.
func (s *Store) acquireLast() *Worker {
	for {
		for _, w := range slices.Backward(s.workers[:len(s.workers)-1]) {
			if !w.busy.Load() && w.busy.CompareAndSwap(false, true) {
				w.packs = true
				return w
			}
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// try recompresses a page, if it is still wanted. It works on a copy of the object and holds no
// lock: a writer need not wait for a slow codec. A damaged object is left for a read to find.
func (r *Recompressor) try(w *Worker, page uint64) error {
	s := r.s
	w.beginRead()
	e := s.idx.load(page)
	if !r.wanted(page, e) {
		w.endRead()
		return nil
	}
	packed, err := s.object(page, e)
	old := r.old[:copy(r.old[:], packed)]
	w.endRead()
	r.did.Tried++
	s.ages.mark(page, 0, ageIdle)
	if err != nil || w.decompressor.Decompress(w.page[:], e.Codec(), old) != nil {
		return nil
	}
	id, n, err := r.compressor.Compress(w.packed[:], w.page[:])
	if err != nil {
		return err
	}
	if id == codec.Raw || image.Footprint(n) >= image.Footprint(len(old)) || r.cfg.Threshold != 0 && n >= r.cfg.Threshold {
		r.did.Incompressible++
		s.ages.mark(page, ageUncompressing, 0)
		return nil
	}
	to, err := w.place(page, id, w.packed[:n])
	if err != nil {
		return err
	}
	w.prove(page, to, w.page[:])
	if !w.exchange(page, e.Codec(), old, to) {
		w.deferFree(to)
		r.did.Changed++
		return nil
	}
	r.did.Pages++
	r.did.SavedBytes += uint64(len(old) - n)
	s.recompressed.Add(1)
	return nil
}

// exchange makes to the entry of a page whose object is still old by codec id, wherever compaction
// has moved it, and reports whether it is.
func (w *Worker) exchange(page uint64, id codec.ID, old []byte, to image.Entry) bool {
	s := w.s
	l := w.lockPage(page)
	defer l.Unlock()
	e := s.idx.load(page)
	if !s.holds(page, e, id, old) {
		return false
	}
	invariant.Point("object recompressed")
	s.idx.swap(page, to)
	invariant.Point("recompressed object published")
	s.ages.mark(page, ageRecompressed, ageIdle)
	w.count.add(to, +1)
	w.count.add(e, -1)
	w.deferFree(e)
	return true
}
