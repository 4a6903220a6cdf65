// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// MarkIdle marks pages as idle that were neither read nor written for age, or all for age 0, and
// returns how many are marked now. As in kernel zram same-filled and written-back pages are never
// idle, and a read, a write or a discard ends it. A page's age is known within a third, and in
// steps: a page is not marked before it is of that age, and is at the latest at twice that age and
// 2 seconds. It takes some milliseconds for each 4 GiB, and requests go on.
func (s *Store) MarkIdle(age time.Duration) (marked uint64) {
	a := &s.ages
	if !s.operators.TryRLock() {
		return 0
	}
	defer s.operators.RUnlock()
	s.idx.giving.held.RLock()
	defer s.idx.giving.held.RUnlock()
	s.idx.each(0, s.image.IndexPages-1, func(n uint64) {
		for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, s.image.Pages); page++ {
			if e := s.idx.entry(page); e != 0 && !e.Same() && !e.WrittenBack() && a.markIdle(page, age) {
				marked++
			}
		}
	})
	a.stale.Store(true)
	s.poke()
	return marked
}

// markIdle marks a page if it is old enough, and reports whether it is marked.
func (a *ages) markIdle(page uint64, age time.Duration) bool {
	for {
		b := a.of(page)
		if b&ageCode == ageNone || ageOf(b) < age {
			return false
		}
		if b&ageIdle != 0 || a.change(page, b, b|ageIdle) {
			return true
		}
	}
}

// ageOf is the least age that a byte stands for, 0 for one without a code.
func ageOf(b byte) time.Duration {
	least, _ := stepAges(int(b&ageCode) - ageNow)
	return least
}

// oldEnough reports whether a page with that byte was not accessed for age; 0 is any time.
func oldEnough(b byte, age time.Duration) bool {
	return age == 0 || ageOf(b) >= age
}

// PageState is what there is to know of a page without reading it: what kernel zram's block_state
// shows. Its zero value is that of a page that holds nothing.
type PageState struct {
	Stored         bool
	Same           bool          // same-filled
	WrittenBack    bool          // it lies on the backing device
	Huge           bool          // incompressible by Config.Algorithm, and so stored as it is
	Idle           bool          // see MarkIdle
	Recompressed   bool          // Recompress or a Clusterer made the object
	Incompressible bool          // Recompress could not make the object smaller
	Length         int           // of the object, or of a page's share in it, bytes; 0 where Same or WrittenBack
	Age            time.Duration // since it was read or written, at least; see AgeClass
}

// PageState looks at a page. A page that is accessed during the call may show in part what it was.
// Together with NextStored it goes through a device; it takes some nanoseconds. Pages beyond the
// device hold nothing.
func (s *Store) PageState(page uint64) PageState {
	if page >= s.image.Pages {
		return PageState{}
	}
	s.idx.giving.held.RLock()
	defer s.idx.giving.held.RUnlock()
	e := s.idx.load(page)
	if e == 0 {
		return PageState{}
	}
	st := PageState{Stored: true, Same: e.Same(), WrittenBack: e.WrittenBack()}
	if e.Object() && !st.WrittenBack {
		st.Length = e.Share()
		st.Huge = st.Length == PageSize
	}
	if b := s.ages.of(page); b&ageCode != ageNone {
		st.Age = ageOf(b)
		st.Idle, st.Recompressed = b&ageIdle != 0, b&ageSticky == ageRecompressed
		st.Incompressible = b&ageSticky == ageUncompressing
	}
	return st
}
