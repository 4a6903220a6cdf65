// SPDX-License-Identifier: Apache-2.0

package store

import "time"

const (
	maxWait    = time.Second            // that a write waits for memory
	reliefWait = 30 * time.Second       // that it waits while Config.Relief makes room, or stalls
	waitPause  = 100 * time.Microsecond // pause two looks
	stallPause = 50 * time.Millisecond  // the same of a write that stalls
)

// A memoryWait is a write's wait for the maintainer: until two passes that began
// after it could not help (one pass may find a request at a page that it would
// move), and up to maxWait, should the maintainer be stuck.
//
// A waiting write holds a worker that a read may need. Once Config.MaxWaiting writes
// wait, a further one fails at once if the store was denied memory, since to walk over
// all clusters may take longer than reads can wait. It waits if only the
// maintainer is behind, since that takes milliseconds.
//
// While Config.Relief makes room all writes wait, the reads behind them too, as for any
// device that is busy. With FullStall a write waits for other pages to be freed, between the calls
// of Stall, unless it is one too many.
type memoryWait struct {
	s       *Store
	turn    uint64 // the pass to wait for
	failed  int
	until   time.Time
	longest time.Time // until is never after it
	crowded bool
	relies  bool // on Config.Relief
	stalls  bool // as Store.Stall says
}

func (s *Store) waitForMemory(crowded bool) memoryWait {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return memoryWait{
		s: s, turn: s.begun + 1, until: now.Add(s.patience), longest: now.Add(reliefWait), crowded: crowded, relies: true,
		stalls: s.stall.Load() && !crowded,
	}
}

// waitForMemory is the wait of a request. All pages of one stall together for reliefWait at the
// most; what packs does not, since it frees memory itself.
func (w *Worker) waitForMemory(crowded bool) memoryWait {
	m := w.s.waitForMemory(crowded)
	if m.stalls = m.stalls && !w.packs; m.stalls {
		if w.stallEnd.IsZero() {
			w.stallEnd = m.longest
		}
		m.longest = w.stallEnd
	}
	return m
}

func (w *memoryWait) pause() {
	w.s.poke()
	if w.stalled() && w.s.full.Load() && !w.s.relief.Load() {
		time.Sleep(stallPause)
		return
	}
	time.Sleep(waitPause)
}

// stalled reports whether the write waits for pages to be freed.
func (w *memoryWait) stalled() bool {
	return w.stalls && w.s.stall.Load() && !w.s.quiet.Load()
}

func (w *memoryWait) over() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	now := time.Now()
	hopeless, denied := w.s.full.Load(), w.s.denied.Load()
	if w.relies && (w.stalled() || w.s.relief.Load()) && now.Before(w.longest) {
		hopeless, denied, w.until = false, false, now.Add(w.s.patience)
	}
	if w.s.ended >= w.turn {
		w.turn = w.s.begun + 1
		if hopeless {
			w.failed++
		}
	}
	return w.failed == 2 || w.crowded && (hopeless || denied) || now.After(w.until)
}
