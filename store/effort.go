// SPDX-License-Identifier: Apache-2.0

package store

import "zramfs/codec"

// How much time a page may take is decided for each write, from what is known without asking: how many requests came at once lately, and
// whether memory is running out. The first free worker is taken, so one's number is how many requests were under way before; those
// that get the first workers while later ones are busy learn of it from Store.depth.

// depthLasts is how many requests a worker serves at a lower depth before it takes the noted one down by a part.
const depthLasts = 32

// scarceFrom is, in eighths of the most memory that there can be, where it is scarce: from there on a page that finds no room costs more than
// the time saved on it.
const scarceFrom = 7

// effortAmong returns the level of effort for a request that finds depth others under way, with as many processors and workers. While each
// request can have a processor to itself there is time for everything; from there it falls evenly to 0 for the last worker.
func effortAmong(depth, processors, workers int) int {
	last := workers - 1
	if depth < processors || last < processors {
		return codec.MaxEffort
	}
	return codec.MaxEffort * max(last-depth, 0) / (last - processors + 1)
}

// scarce reports whether of most bytes of memory, used ones leave little.
func scarce(used, most int64) bool { return used >= most/8*scarceFrom }

// most is the memory that the store can ever take, in bytes.
func (s *Store) most() int64 {
	if s.cfg.MemLimit != 0 {
		return int64(s.cfg.MemLimit)
	}
	return s.size
}

// noteDepth keeps Store.depth at the most that lately was. It reads what others write, but writes only what changes, and a lost write
// does no harm.
func (w *Worker) noteDepth() {
	now := w.s.depth.Load()
	switch {
	case w.depth > now:
		w.s.depth.Store(w.depth)
	case w.depth < now:
		if w.lower++; w.lower >= depthLasts {
			w.lower = 0
			w.s.depth.CompareAndSwap(now, now-1-now/8)
		}
	}
}

// setEffort tells the compressor, if it wants to know, how much time it has.
func (w *Worker) setEffort() {
	if w.adjustable == nil {
		return
	}
	level := w.s.workers[w.s.depth.Load()].effort
	if w.s.full.Load() || scarce(w.s.used(), w.s.most()) {
		level = codec.MaxEffort
	}
	w.adjustable.SetEffort(level)
}
