// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// An index page whose entries are all 0 goes back to the machine, and with it the page of the table
// of ages that stands for nothing else. A walk of the maintainer finds such pages after pages were
// discarded: at once where memory is short, and else now and then.
//
//	exists ---- leave ----> leaving ---- release ----> absent
//	   ^                       |
//	   +-------- revive -------+
//
// leave holds the locks of all pages of an index page, so that no entry changes, and clears the bit
// of the index page in the bitmap and its twins. From then on no read of it begins, and a write
// waits until it exists again. A write that has found the bit set has stored the number of the
// index page in Worker.lastIndexPage before, and leave takes no such page.
//
// A reader that has found the bit set may be at the memory still. So release waits until each
// worker was free or parked once, and gives the memory back while giving.held is not read-locked. A
// process that dies in between leaves a page of zeros that the bitmap does not name, which Open
// gives back.
type giving struct {
	wanted atomic.Bool  // pages were discarded since the last walk began
	held   sync.RWMutex // read-locked by readers of entries without a worker, passMu or a page's lock

	under bool          // a walk is under way; guarded by passMu, as the following fields are
	next  uint64        // index page that it comes to next
	pages []uint64      // leaving, in ascending order
	clear []bool        // workers that do not read those
	took  time.Duration // by the walk
	ended time.Time     // when the last one did
	walks uint64        // that have ended
}

const (
	giveAtOnce = 16               // index pages that are looked at, and leave, together: a turn at the most
	giveEvery  = 10 * time.Second // from one walk to the next: swap discards and writes all the time
	giveShare  = 10               // walks take at most this part of a processor
	giveInNeed = settleEvery      // as giveEvery, at the most, while memory is short
	giveWorth  = 8                // the part of the objects' memory that the index has to take
	givePause  = time.Millisecond // pause two pieces of giveBackAll
)

func (g *giving) init(workers int) {
	g.pages, g.clear = make([]uint64, 0, giveAtOnce), make([]bool, workers)
}

// noteDiscard has the maintainer walk.
func (x *index) noteDiscard() {
	if g := &x.giving; !x.whole && !g.wanted.Load() {
		g.wanted.Store(true)
		if x.s.sleeping.Load() {
			x.s.poke()
		}
	}
}

// giveBackSome gives index pages back that hold nothing, a bounded number. again is when to go on,
// 0 for not before the next pass. more reports that memory came back, or soon may: writes wait for
// it. The caller holds passMu.
func (x *index) giveBackSome(denied bool) (again time.Duration, more bool) {
	g, now := &x.giving, time.Now()
	if !g.under && len(g.pages) == 0 {
		if x.whole || !g.wanted.Load() || !x.costly() {
			return 0, false
		}
		left := g.ended.Add(g.rest(denied)).Sub(now)
		switch {
		case left > 0 && denied:
			return min(left, settleEvery), left < maxWait/2
		case left > 0:
			return 0, false // a pass comes with each tick of the ages
		}
		g.begin()
	}
	defer func() { g.took += time.Since(now) }()
	most, pause := giveAtOnce, heldUpEvery
	if denied {
		most, pause = recountAtOnce, compactEvery
	}
	used := x.s.used()
	for looked := 0; ; looked += giveAtOnce {
		switch {
		case !x.release():
			return pause, true
		case !g.under:
			g.ended = time.Now()
			g.walks++
			return 0, x.s.used() < used
		case looked >= most || looked > 0 && !denied && x.s.turnEnds():
			return turnEvery, true
		}
		x.leaveSome(denied)
	}
}

// costly reports whether the index takes a good part of the memory. Else it may stay as it is, for
// the pages that are written next.
func (x *index) costly() bool {
	return x.s.indexBytes()-x.s.image.IndexOffset > int64(x.s.footprint())/giveWorth
}

// rest is the least time from one walk to the next.
func (g *giving) rest(denied bool) time.Duration {
	if denied {
		return max(g.took, min((giveShare-1)*g.took, giveInNeed))
	}
	return max((giveShare-1)*g.took, giveEvery)
}

// begin begins a walk.
func (g *giving) begin() {
	g.wanted.Store(false)
	g.under, g.next, g.took = true, 0, 0
}

// giveBackAll gives all index pages back that hold nothing, unless it is enough before.
func (x *index) giveBackAll(enough func() bool) {
	g := &x.giving
	if x.whole {
		return
	}
	x.s.passMu.Lock()
	g.begin()
	walks, done := g.walks, false
	x.s.passMu.Unlock()
	for ; !done && !enough(); time.Sleep(givePause) {
		x.s.passMu.Lock()
		x.s.turnEnd = time.Now().Add(givePause)
		x.giveBackSome(false)
		done = g.walks != walks || !g.under && len(g.pages) == 0
		x.s.passMu.Unlock()
	}
}

// leaveSome goes on with the walk. No index page is leaving yet.
func (x *index) leaveSome(denied bool) {
	g := &x.giving
	for range giveAtOnce {
		if g.next = x.next(g.next, true); g.next >= x.s.image.IndexPages {
			g.under = false
			return
		}
		if x.empty(g.next) && !x.wantedByWrites(g.next, denied) && x.leave(g.next) {
			g.pages = append(g.pages, g.next)
		}
		g.next++
	}
}

// empty reports whether an index page that exists holds no entry.
func (x *index) empty(n uint64) bool {
	for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, x.s.image.Pages); page++ {
		if x.entries[page].Load() != 0 {
			return false
		}
	}
	return true
}

// wantedByWrites reports whether grow would take an index page that does not exist.
func (x *index) wantedByWrites(n uint64, denied bool) bool {
	for _, w := range x.s.workers {
		last := w.lastIndexPage.Load()
		if last == 0 {
			continue
		}
		if last == n+1 {
			return true
		}
		first := (last - 1) &^ (piecePages - 1)
		if !denied && n >= first && n < first+(1+aheadPieces)*piecePages && x.inOrder(last-1) {
			return true
		}
	}
	return false
}

// leave clears the bit of an index page, unless it holds an entry, or a request is at one of its
// pages or about to write to one.
func (x *index) leave(n uint64) bool {
	locked, ok := x.s.tryLockAll(n)
	defer locked.unlock(x.s)
	if !ok || !x.empty(n) {
		return false
	}
	for _, bits := range [][]atomic.Uint64{x.bitmap, x.twins[0], x.twins[1]} {
		bits[n/64].And(^(uint64(1) << (n % 64)))
	}
	for _, w := range x.s.workers {
		if w.lastIndexPage.Load() == n+1 { // it may have found the bit set
			x.note(n)
			return false
		}
	}
	clear(x.giving.clear)
	invariant.Point("index page leaves")
	return true
}

// release gives the memory of leaving index pages back once no reader is there, and reports whether
// none is left.
func (x *index) release() bool {
	g, all := &x.giving, true
	if len(g.pages) == 0 {
		return true
	}
	for i := range g.clear {
		if w := x.s.workers[i]; !g.clear[i] {
			if g.clear[i] = w.parked.Load(); w.busy.CompareAndSwap(false, true) {
				g.clear[i] = true
				w.busy.Store(false)
			}
		}
		all = all && g.clear[i]
	}
	if !all || !g.held.TryLock() {
		return false
	}
	defer g.held.Unlock()
	x.punchAll()
	return true
}

// settle does what release does where nothing is under way.
func (x *index) settle() {
	x.giving.held.Lock()
	defer x.giving.held.Unlock()
	x.punchAll()
}

// punchAll gives the memory of leaving index pages back, and that of a page of the table of ages
// with the last of those that it stands for. A page that cannot be given back exists again.
func (x *index) punchAll() {
	g, a := &x.giving, &x.s.ages
	for i, n := range g.pages {
		m, ages := n/agedIndexPages, int64(0) // pages of the table that go with it
		if !a.exists(m) && (i == len(g.pages)-1 || g.pages[i+1]/agedIndexPages != m) {
			ages = 1
		}
		if err := x.punch(n, ages == 1); err != nil {
			x.note(n)
			continue
		}
		x.present.Add(-1)
		a.present.Add(-ages)
		x.s.charged.Add(-(1 + ages) * PageSize)
		invariant.Point("index page given back")
	}
	g.pages = g.pages[:0]
}

// punch gives the memory of an index page back, and with ages that of its page of the table of
// ages. After an error both are there.
func (x *index) punch(n uint64, ages bool) error {
	at := x.s.image.AgePageAt(n / agedIndexPages)
	if ages {
		if err := x.s.memory.punch(at, PageSize); err != nil {
			return err
		}
	}
	err := x.s.memory.punch(x.s.image.IndexPageAt(n), PageSize)
	if err != nil && ages && x.s.memory.populate(at, PageSize) != nil {
		return nil // the index page is there for the next attempt to take it
	}
	return err
}

// revive makes index pages exist again that are leaving, those from first to before end and others
// that share a page of the table of ages with one of them.
func (x *index) revive(first, end uint64) {
	stay := x.giving.pages[:0]
	for _, n := range x.giving.pages {
		if m := n / agedIndexPages; m >= first/agedIndexPages && m <= (end-1)/agedIndexPages {
			x.note(n)
		} else {
			stay = append(stay, n)
		}
	}
	x.giving.pages = stay
}

// lockedStripes has a bit for each of Store.locks that is held.
type lockedStripes [lockStripes / 64]uint64

// tryLockAll takes the locks of all pages of an index page. Where it cannot take one, ok is false
// and the result has those that it took.
func (s *Store) tryLockAll(n uint64) (locked lockedStripes, ok bool) {
	for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, s.image.Pages); page += image.ClusterPages {
		stripe := stripeOf(page)
		if locked[stripe/64]>>(stripe%64)&1 != 0 {
			continue
		}
		if !s.locks[stripe].TryLock() {
			return locked, false
		}
		locked[stripe/64] |= 1 << (stripe % 64)
	}
	return locked, true
}

func (l *lockedStripes) unlock(s *Store) {
	for stripe := range uint64(lockStripes) {
		if l[stripe/64]>>(stripe%64)&1 != 0 {
			s.locks[stripe].Unlock()
		}
	}
}
