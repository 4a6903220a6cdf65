// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

const freedByte = invariant.Freed

// A Worker serves one request at a time: it has the buffers and codec state
// that a page needs, so that nothing is allocated for it. Take one with
// Store.Acquire, give it back with Release; between the two it belongs to one
// goroutine.
type Worker struct {
	s    *Store      // immutable
	busy atomic.Bool // somebody has it; whoever wants a worker looks at it
	// parked says that the worker waits for the maintainer and has nothing retired.
	parked atomic.Bool
	_      apart
	seat   atomic.Uint64 // epoch in which its present read began, 0 for none; whoever frees looks at it
	near   atomic.Uint64 // one more than the index page that it last wanted to write to, 0 for none
	_      apart

	// What follows belongs to whoever has the worker.
	compressor   codec.Compressor
	adjustable   codec.Adjustable // the compressor, if it is one; else nil
	effort       int              // see SetEffort
	decompressor *codec.Decompressor
	packed       [PageSize]byte
	page         [PageSize]byte
	proof        []byte // where prove brings a page back to, where there are self-checks; else nil
	open         openSegment
	retired      []image.Entry // unpublished, waiting for readers to leave
	deserted     bool          // it freed the last object of a segment that some worker has open
	freed        int           // bytes freed since the maintainer was last told
	onWait       func()        // see OnWait; nil for none

	count counters // written by whoever has the worker, read by Stats
	_     apart
}

func newWorker(s *Store) (*Worker, error) {
	c, err := s.algorithm.NewCompressor()
	if err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	d, err := s.algorithm.NewDecompressor()
	if err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	w := &Worker{s: s, compressor: c, decompressor: d, retired: make([]image.Entry, 0, maxRetired)}
	w.adjustable, _ = c.(codec.Adjustable)
	if invariant.Enabled {
		w.proof = make([]byte, PageSize)
	}
	return w, nil
}

// Acquire takes a worker for one request. It waits while more requests are at
// work than the store has workers, but not for memory: two are always left by
// those that do.
func (s *Store) Acquire() *Worker {
	for {
		if w := s.tryAcquire(); w != nil {
			return w
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// tryAcquire takes the first free worker, so that the state in use stays small
// and warm; nil if there is none.
func (s *Store) tryAcquire() *Worker {
	for _, w := range s.workers[:len(s.workers)-1] {
		if !w.busy.Load() && w.busy.CompareAndSwap(false, true) {
			return w
		}
	}
	return nil
}

// OnWait lets f be called, at most once until Release, when a write begins to wait
// for memory: whoever has the worker then knows that it may take a while, a second
// at the most. f must not block.
func (w *Worker) OnWait(f func()) { w.onWait = f }

func (w *Worker) stepAside() {
	if f := w.onWait; f != nil {
		w.onWait = nil
		f()
	}
}

// Release gives the worker back. What a reader keeps it from freeing, the
// maintainer frees, who also takes segments from idle workers that hold nothing.
func (w *Worker) Release() {
	w.onWait, w.effort = nil, codec.MaxEffort
	done := w.flush(false) && !w.deserted
	w.deserted = false
	w.busy.Store(false)
	if !done && w.s.drowsy.Load() {
		w.s.poke()
	}
}

// Read copies len(dst) bytes of a page, from off on. A page that was never
// written, or was discarded, reads as zeros. It fails with ErrRange, or with
// ErrCorrupt when what is stored does not pass its checksum; dst is then
// undefined.
func (w *Worker) Read(page uint64, off int, dst []byte) error {
	if err := w.inRange(page, off, len(dst)); err != nil {
		return err
	}
	w.count.reads.Add(1)
	w.enter()
	err := w.load(page, w.s.idx.load(page), off, dst)
	w.leave()
	if err == nil {
		return nil
	}
	return w.readAgain(page, off, dst)
}

// readAgain looks once more, under the page's lock, when nothing can be on the
// move: a page is called corrupt only if it still is then.
func (w *Worker) readAgain(page uint64, off int, dst []byte) error {
	l := w.s.lock(page)
	l.Lock()
	err := w.load(page, w.s.idx.load(page), off, dst)
	l.Unlock()
	if err != nil {
		w.s.errors.note(failedRead)
		w.corrupt(page)
	}
	return err
}

func (w *Worker) corrupt(page uint64) {
	w.s.errors.note(checksumError)
	if f := w.s.cfg.OnCorrupt; f != nil {
		f(page)
	}
}

// Write stores len(src) bytes of a page, from off on; src is not kept. Part of
// a page is read, changed and written under the page's lock. It fails with
// ErrRange, ErrFull, or ErrCorrupt when the rest of the page cannot be read;
// the page then keeps what it held.
func (w *Worker) Write(page uint64, off int, src []byte) error {
	if err := w.inRange(page, off, len(src)); err != nil {
		return err
	}
	w.count.writes.Add(1)
	err := error(nil)
	if len(src) == PageSize {
		err = w.replace(page, src)
	} else if len(src) > 0 {
		err = w.update(page, off, len(src), src)
	}
	if err != nil {
		w.s.errors.note(failedWrite)
	}
	return err
}

// Zero makes n bytes of a page read as zeros, from off on; a whole page is
// discarded. It fails as Write does.
func (w *Worker) Zero(page uint64, off, n int) error {
	if err := w.inRange(page, off, n); err != nil {
		return err
	}
	switch {
	case n == PageSize:
		w.discard(page)
		return nil
	case n == 0 || w.s.idx.load(page) == 0:
		return nil
	}
	err := w.update(page, off, n, nil)
	if err != nil {
		w.s.errors.note(failedWrite)
	}
	return err
}

// Discard frees count pages from first on; they read as zeros. Pages beyond
// the device are ignored. It takes about 0.2 microseconds a page stored, 0.4 where
// it is incompressible: 2048 pages (8 MiB) stay below a millisecond.
func (w *Worker) Discard(first, count uint64) {
	s := w.s
	if first >= s.image.Pages || count == 0 {
		return
	}
	last := first + min(count, s.image.Pages-first) - 1
	s.idx.each(first/image.EntriesPerPage, last/image.EntriesPerPage, func(n uint64) {
		end := min(n*image.EntriesPerPage+image.EntriesPerPage-1, last)
		for page := max(n*image.EntriesPerPage, first); page <= end; page++ {
			if s.idx.load(page) != 0 {
				w.discard(page)
			}
		}
	})
}

func (w *Worker) discard(page uint64) {
	if !w.s.idx.has(page / image.EntriesPerPage) {
		return
	}
	w.s.sweepUnder(page)
	l := w.s.lock(page)
	l.Lock()
	old := w.s.idx.swap(page, 0)
	l.Unlock()
	invariant.Point("entry withdrawn")
	if old != 0 {
		w.count.discards.Add(1)
		w.replaced(page, old, 0)
	}
}

// replace writes a whole page. The lock covers the publication only.
func (w *Worker) replace(page uint64, src []byte) error {
	e, err := w.encode(page, src)
	if err != nil {
		return err
	}
	w.publish(page, e)
	return nil
}

// publish makes e the entry of a page.
func (w *Worker) publish(page uint64, e image.Entry) {
	w.s.sweepUnder(page)
	invariant.Point("entry to be published")
	l := w.s.lock(page)
	l.Lock()
	old := w.s.idx.swap(page, e)
	l.Unlock()
	invariant.Point("entry published")
	w.replaced(page, old, e)
}

// update changes n bytes of a page to src, or to zeros where src is nil. It waits
// for memory, if it must, before it takes the lock, so that nobody waits for it.
func (w *Worker) update(page uint64, off, n int, src []byte) error {
	if err := w.prepare(page); err != nil {
		return err
	}
	l := w.s.lock(page)
	l.Lock()
	defer l.Unlock()
	if err := w.load(page, w.s.idx.load(page), 0, w.page[:]); err != nil {
		w.corrupt(page)
		return err
	}
	if part := w.page[off : off+n]; src == nil {
		clear(part)
	} else {
		copy(part, src)
	}
	e, err := w.encode(page, w.page[:])
	if err != nil {
		return err
	}
	w.s.sweepUnder(page)
	invariant.Point("changed entry to be published")
	old := w.s.idx.swap(page, e)
	invariant.Point("changed entry published")
	w.replaced(page, old, e)
	return nil
}

// prepare makes sure that whatever is written to a page has a place.
func (w *Worker) prepare(page uint64) error {
	if err := w.ensureIndex(page); err != nil || w.open.next+image.MaxFootprint <= w.open.end {
		return err
	}
	return w.nextSegment()
}

// replaced settles what follows from publishing e for page in place of old. What
// a damaged entry seems to own is let go: to free it could hit another page.
func (w *Worker) replaced(page uint64, old, e image.Entry) {
	w.count.add(e, +1)
	if !old.Valid(w.s.image.Segments) {
		w.corrupt(page)
		return
	}
	w.count.add(old, -1)
	if old.Object() && !w.s.owns(page, old) {
		w.corrupt(page)
		return
	}
	w.retire(old)
}

func (w *Worker) inRange(page uint64, off, n int) error {
	if page >= w.s.image.Pages || off < 0 || n < 0 || off+n > PageSize {
		return ErrRange
	}
	return nil
}

// encode stores a whole page in fresh space and returns the entry to publish.
func (w *Worker) encode(page uint64, src []byte) (image.Entry, error) {
	if err := w.ensureIndex(page); err != nil {
		return 0, err
	}
	if word, ok := pagescan.SameFilled(src); ok {
		if e, ok := w.s.same.ref(word); ok {
			return e, nil
		}
	}
	w.setEffort()
	id, n, err := w.compressor.Compress(w.packed[:], src)
	if err != nil {
		return 0, err
	}
	packed := w.packed[:n]
	if id == codec.Raw {
		packed = src
	}
	e, err := w.place(page, id, packed)
	if err != nil {
		return 0, err
	}
	w.prove(page, e, src)
	return e, nil
}
