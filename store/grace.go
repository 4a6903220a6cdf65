// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Reads take no lock. A reader notes the epoch in readEpoch, loads the entry, uses
// what it refers to, and clears readEpoch. A writer that replaces an entry retires
// the old one, and frees what it refers to when every reader that may have loaded
// it is done. A reader that begins later finds the new entry.

// maxRetired bounds how many entries a worker keeps before it has to wait for
// readers to leave, a few microseconds at the most.
const maxRetired = 256

func (w *Worker) beginRead() { w.readEpoch.Store(w.s.epoch.Load()) }
func (w *Worker) endRead()   { w.readEpoch.Store(0) }

// deferFree takes charge of an entry that was unpublished.
func (w *Worker) deferFree(e image.Entry) {
	if !e.Object() && e.Codec() != image.SameSlot {
		return
	}
	w.retired = append(w.retired, e)
	if len(w.retired) == maxRetired {
		w.reclaim(true)
	}
}

// reclaim frees what was retired, if no reader can reach it; with wait
// it stays until none can. The caller is not reading.
func (w *Worker) reclaim(wait bool) bool {
	if len(w.retired) == 0 {
		return true
	}
	now := w.s.epoch.Add(1)
	for _, other := range w.s.workers {
		for since := other.readEpoch.Load(); since != 0 && since < now; since = other.readEpoch.Load() {
			if !wait {
				return false
			}
			runtime.Gosched()
		}
	}
	for _, e := range w.retired {
		w.freeEntry(e)
	}
	w.retired = w.retired[:0]
	return true
}

// freeEntry gives up what an unreachable entry refers to.
func (w *Worker) freeEntry(e image.Entry) {
	if e.Codec() == image.SameSlot {
		w.s.same.unref(e)
		return
	}
	if e.WrittenBack() {
		w.s.freeBlock(e)
	}
	if w.s.clearObject(e) {
		w.openMayBeEmpty = true
		w.s.openMayBeEmpty.Store(true)
	}
	if w.freed += image.Footprint(e.Length()); w.freed >= image.SegmentSize {
		w.freed = 0
		if w.s.sleeping.Load() {
			w.s.poke()
		}
	}
}
