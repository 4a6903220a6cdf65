// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// AgeStats says how long ago the stored pages were read or written, and counts them by state. The
// store's last walk over them found all but Refaults: a second ago while requests read or write
// pages, up to a minute ago while none do.
type AgeStats struct {
	Classes        [AgeClasses]uint64 // pages stored, by age; see AgeClass
	Refaults       [AgeClasses]uint64 // pages read, ever, by their age at that moment
	Idle           uint64             // pages that MarkIdle marked and no request accessed since
	Recompressed   uint64             // pages whose object Recompress or a Clusterer made
	Incompressible uint64             // pages that Recompress could not make smaller
}

// An ageWalk brings the ages of all pages from one tick to another, in pieces.
type ageWalk struct {
	start time.Time      // of tick 0
	from  int64          // tick that all ages stand for
	to    int64          // tick that the walk under way brings them to
	under bool           // a walk is under way
	next  uint64         // index page that it comes to next
	took  time.Duration  // by the pieces of the walk
	every time.Duration  // from one walk to the next
	due   time.Time      // when the next one begins
	seen  uint64         // accesses to pages when the last one began
	table [1 << 8]byte   // what a byte becomes
	count [1 << 8]uint64 // pages of the walk, by their byte
}

const (
	agePiece = 8                // index pages of a piece: a fraction of a turn
	ageQuiet = 64 * time.Second // from one walk to the next at the most, while nothing is accessed
	ageShare = 50               // walks take at most this part of a processor
	ageProof = 16               // code at which a walk looks whether anything is stored: a minute or more
)

// ageSome begins a walk if it is time, or does a piece of one, and says when to call again.
func (s *Store) ageSome() time.Duration {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	a, now := &s.ages, time.Now()
	w := &a.walk
	if !w.under {
		if stale := a.stale.Swap(false); !stale && now.Before(w.due) {
			return w.due.Sub(now)
		}
		accesses := s.accesses()
		if accesses != w.seen {
			w.every = ageTick
		} else {
			w.every = min(2*w.every, ageQuiet)
		}
		w.begin(int64(now.Sub(w.start)/ageTick), accesses != w.seen)
		w.seen, w.due = accesses, now.Add(w.every)
	}
	done := a.piece()
	for !done && time.Since(now) < turn {
		done = a.piece()
	}
	w.took += time.Since(now)
	if !done {
		return turnEvery
	}
	if least := now.Add(ageShare * w.took); w.due.Before(least) {
		w.due = least
	}
	return max(time.Until(w.due), time.Millisecond)
}

// accesses is how many pages were read and written.
func (s *Store) accesses() uint64 {
	return s.writes() + s.total(totalReads)
}

// begin begins a walk to a tick. If pages were accessed since the last one, the walk cannot tell
// when: all that is of step 0 goes one step up.
func (w *ageWalk) begin(to int64, accessed bool) {
	w.to, w.under, w.next, w.took = max(to, w.from), true, 0, 0
	w.count = [1 << 8]uint64{}
	for b := range w.table {
		w.table[b] = byte(b)
		if code := b & ageCode; code != ageNone {
			w.table[b] = byte(b&^ageCode | stepAfter(code-ageNow, w.from, w.to, accessed) + ageNow)
		}
	}
}

// stepAfter is what becomes of a step between two ticks.
func stepAfter(step int, from, to int64, accessed bool) int {
	for begun := step; step < ageCodes-2; {
		p := int64(1) << (step / 2)
		if from = (from/p + 1) * p; from > to {
			break
		}
		if step++; begun == 0 && accessed {
			break
		}
	}
	return step
}

// batch does the next piece of the walk and reports whether it was the last.
func (a *ages) piece() (done bool) {
	w, x := &a.walk, &a.s.idx
	for range agePiece {
		if w.next = x.next(w.next, true); w.next >= a.s.image.IndexPages {
			a.finish()
			return true
		}
		a.age(w.next)
		w.next++
	}
	return false
}

// age brings the pages of an index page to the walk's tick.
func (a *ages) age(n uint64) {
	first := n * image.EntriesPerPage / 8
	for i := first; i < min(first+image.EntriesPerPage/8, uint64(len(a.words))); i++ {
		if a.words[i].Load() != 0 {
			a.ageWord(i)
		}
	}
}

// ageWord does so with eight pages, which programs may use at the same time.
func (a *ages) ageWord(i uint64) {
	for {
		old := a.words[i].Load()
		word := a.aged(i*8, old)
		if word == old || a.words[i].CompareAndSwap(old, word) {
			a.tally(word)
			return
		}
	}
}

// aged is what becomes of the bytes of eight pages.
func (a *ages) aged(page, old uint64) (word uint64) {
	for shift := uint64(0); shift < 64; shift += 8 {
		b := byte(old >> shift)
		to := a.walk.table[b]
		if to&ageCode >= ageProof && b&ageCode < ageProof && !a.s.stored(page+shift/8) {
			to = ageNone // a read and a discard met, or a bit flipped behind the last page
		}
		word |= uint64(to) << shift
	}
	return word
}

// stored reports whether a page, which may lie beyond the device, holds anything.
func (s *Store) stored(page uint64) bool { return page < s.image.Pages && s.idx.load(page) != 0 }

func (a *ages) tally(word uint64) {
	for range 8 {
		a.walk.count[byte(word)]++
		word >>= 8
	}
}

// finish ends the walk and publishes what it counted.
func (a *ages) finish() {
	w := &a.walk
	w.from, w.under = w.to, false
	var st AgeStats
	for b, pages := range w.count {
		code := b & ageCode
		if code == ageNone {
			continue
		}
		st.Classes[(code-ageNow)/2] += pages
		if b&ageIdle != 0 {
			st.Idle += pages
		}
		if b&ageSticky == ageRecompressed {
			st.Recompressed += pages
		}
		if b&ageSticky == ageUncompressing {
			st.Incompressible += pages
		}
	}
	a.mu.Lock()
	a.known = st
	a.mu.Unlock()
}

// ageStats is what is known of ages now.
func (s *Store) ageStats() AgeStats {
	s.ages.mu.Lock()
	st := s.ages.known
	s.ages.mu.Unlock()
	for set := range refaultSets {
		for class := range st.Refaults {
			st.Refaults[class] += s.refaults(set)[class].Load()
		}
	}
	return st
}
