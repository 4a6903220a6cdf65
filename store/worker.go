// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// A Worker serves one request at a time: it has the buffers and codec state
// that a page needs, so that nothing is allocated for it. Take one with
// Store.Acquire, give it back with Release; between the two it belongs to one
// goroutine.
type Worker struct {
	s    *Store      // immutable
	busy atomic.Bool // a request has it
	// parked says that the worker waits, for the maintainer or for the backing device, and has
	// nothing retired.
	parked atomic.Bool
	_      apart
	// readEpoch is the epoch in which its present read began, 0 for none. Workers that free look
	// at it.
	readEpoch atomic.Uint64
	// lastIndexPage is one more than the index page that it last wanted to write to, 0 for none.
	lastIndexPage atomic.Uint64
	_             apart

	// The fields below belong to the request that has the worker.
	coder          atomic.Pointer[coder] // replaced by SetAlgorithm at any time
	effort         int                   // see SetEffort
	decompressor   *codec.Decompressor
	packed         [PageSize]byte
	page           [PageSize]byte
	proof          []byte // where prove brings a page back to, where there are self-checks; else nil
	open           openSegment
	block          []byte        // where a block of the backing device is read to; nil where there is none
	sealer         *sealer       // likewise
	stub           image.Stub    // of the page that load has found to be written back
	retired        []image.Entry // unpublished, waiting for readers to leave
	openMayBeEmpty bool          // it freed the last object of a segment that some worker has open
	freed          int           // bytes freed since the maintainer was last told
	onWait         func(bool)    // see OnWait; nil for none
	stallEnd       time.Time     // until when the present request may stall; zero where it has not
	packs          bool          // no request has it, but what makes objects smaller; see overdraw
	gathers        bool          // it packs the pages of one segment after the other; see bySegment

	result Result   // see Met
	count  counters // written by the request that has the worker, read by Stats
	_      apart
}

func newWorker(s *Store) (*Worker, error) {
	c, err := newCoder(s.cfg.Algorithm)
	if err != nil {
		return nil, err
	}
	d, err := s.cfg.Algorithm.NewDecompressor()
	if err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	w := &Worker{s: s, decompressor: d, retired: make([]image.Entry, 0, maxRetired)}
	w.coder.Store(c)
	if invariant.Enabled {
		w.proof = make([]byte, PageSize)
	}
	return w, nil
}

// Acquire takes a worker for one request. It waits while more requests are at
// work than the store has workers, but not for memory: requests that wait for
// memory leave two workers free.
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

// OnWait sets f to be called, at most once until Release, when a request begins to wait: a write
// for memory, which may take up to a second, or another one for the backing device. f must not
// block.
func (w *Worker) OnWait(f func(forMemory bool)) { w.onWait = f }

func (w *Worker) stepAside(forMemory bool) {
	if f := w.onWait; f != nil {
		w.onWait = nil
		f(forMemory)
	}
}

// Release gives the worker back. The maintainer frees what a reader keeps the
// worker from freeing, and seals the open segments of idle workers that hold
// nothing.
func (w *Worker) Release() {
	w.onWait, w.packs, w.gathers, w.effort, w.result, w.stallEnd = nil, false, false, codec.MaxEffort, Result{}, time.Time{}
	done := w.reclaim(false) && !w.openMayBeEmpty
	w.openMayBeEmpty = false
	w.busy.Store(false)
	if !done && w.s.sleeping.Load() {
		w.s.poke()
	}
}

func (w *Worker) inRange(page uint64, off, n int) error {
	if page >= w.s.image.Pages || off < 0 || n < 0 || off+n > PageSize {
		return ErrRange
	}
	return nil
}
