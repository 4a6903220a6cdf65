// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A byte for each page says how long ago the page was read or written, in a step of its age and
// flags. The bytes lie in the image, so that a worker carries on from what the one before it knew.
// They decide what is worth doing with a page and never what it holds: a byte that lost a race, or
// a damaged one, costs a wrong guess.
//
// The page path stores a byte, without a lock or a bus lock, and the maintainer walks over them and
// raises the steps of pages whose time has come. There are two steps for each doubling of the age:
// at step s a page waits for the next multiple of 2^(s/2) ticks after it came there. So the ages at
// which pages come to step 2k lie between 3*2^(k-1)-2 and 2^(k+1)-2 ticks, and those at which they
// come to step 2k+1 between 2^(k+1)-2 and 3*2^k-2.
const (
	ageNone          = 0      // nothing is stored, or Open found the page without an age
	ageNow           = 1      // code of step 0; that of step s is s+1
	ageCodes         = 1 << 5 // how many codes there are
	ageCode          = ageCodes - 1
	ageIdle          = 1 << 5                             // marked by MarkIdle, and not accessed since
	ageRecompressed  = 1 << 6                             // Recompress made the object
	ageUncompressing = 1 << 7                             // Recompress could not make the object smaller
	ageSticky        = ageRecompressed | ageUncompressing // both: a Clusterer could not join the page

	ageTick = time.Second
)

// AgeClasses is how many classes of age there are: one for each doubling.
const AgeClasses = 16

// AgeClass returns the ages of the pages in a class, from 0 to AgeClasses-1: at least from, and at
// the most to. The classes overlap, because the store only knows an age within a third. The last
// class has no end; to is 0 for it.
func AgeClass(class int) (from, to time.Duration) {
	from, _ = stepAges(2 * class)
	if class < AgeClasses-1 {
		_, to = stepAges(2*class + 2)
	}
	return from, to
}

// stepAges are the least and the largest age at which pages come to a step; 0 for no step.
func stepAges(step int) (least, most time.Duration) {
	if step <= 0 {
		return 0, 0
	}
	p := time.Duration(ageTick) << (step / 2)
	if step%2 == 0 {
		return max(p+p/2-2*ageTick, 0), 2*p - 2*ageTick
	}
	return 2*p - 2*ageTick, 3*p - 2*ageTick
}

// ages is the table.
type ages struct {
	s       *Store          // immutable
	bytes   []byte          // immutable view; a byte for each page
	words   []atomic.Uint64 // immutable view of the same
	present atomic.Int64    // pages of the table that exist: those of whose index pages one does
	walk    ageWalk         // guarded by Store.passMu
	stale   atomic.Bool     // a walk is wanted for what it counts

	mu    sync.Mutex // guards the field below
	known AgeStats   // as of the last walk, but for Refaults
}

// agedIndexPages is for how many index pages a page of the table stands.
const agedIndexPages = PageSize / image.EntriesPerPage

// noteRead begins a page's age anew, and counts the age at which it was read.
//
// Bytes are stored one by one on every machine, so that neighbours are safe, and the maintainer
// compares and swaps words.
//
//go:norace
func (w *Worker) noteRead(page uint64) {
	t := w.s.ages.bytes
	b := t[page]
	t[page] = b&ageSticky | ageNow
	if code := b & ageCode; code != ageNone {
		w.count.refaults[(code-ageNow)/2].Add(1)
	}
}

// noteWrite begins the age of what was just published. The caller holds the page's lock.
//
//go:norace
func (a *ages) noteWrite(page uint64, e image.Entry) {
	b := byte(ageNow)
	if e == 0 {
		b = ageNone
	}
	a.bytes[page] = b
}

// of is the byte of a page.
func (a *ages) of(page uint64) byte {
	if !a.s.idx.has(page / image.EntriesPerPage) {
		return ageNone
	}
	return byte(a.words[page/8].Load() >> (page % 8 * 8))
}

// change replaces the byte of a page that has an age, unless it is no longer old.
func (a *ages) change(page uint64, old, to byte) bool {
	shift := page % 8 * 8
	for {
		word := a.words[page/8].Load()
		if byte(word>>shift) != old {
			return false
		}
		if a.words[page/8].CompareAndSwap(word, word&^(0xFF<<shift)|uint64(to)<<shift) {
			return true
		}
	}
}

// mark sets flags of a page's byte and clears others, if the page has an age.
func (a *ages) mark(page uint64, set, unset byte) {
	for {
		b := a.of(page)
		if b&ageCode == ageNone || a.change(page, b, b&^unset|set) {
			return
		}
	}
}

// init adopts the table. Nothing else uses the store yet.
func (a *ages) init(s *Store) error {
	a.s = s
	a.walk.start, a.walk.every = time.Now(), ageTick
	present, err := a.adopt()
	if err != nil {
		return err
	}
	a.present.Store(present)
	s.charged.Add(present * PageSize)
	a.words, a.bytes = s.image.Ages()
	a.amend()
	return nil
}

// adopt makes the pages of the table exist that stand for index pages that do, and no others.
func (a *ages) adopt() (present int64, err error) {
	s := a.s
	begin, end := uint64(0), uint64(0) // the run of pages that exist
	deal := func(next uint64) {
		if err == nil && begin < end {
			err = s.memory.populate(s.image.AgePageAt(begin), int64(end-begin)*PageSize)
		}
		if err == nil && end < next {
			err = s.memory.punch(s.image.AgePageAt(end), int64(next-end)*PageSize)
		}
		present += int64(end - begin)
		begin, end = next, next
	}
	s.idx.each(0, s.image.IndexPages-1, func(n uint64) {
		m := n / agedIndexPages
		if m > end {
			deal(m)
		}
		end = m + 1
	})
	deal(s.image.AgePages())
	return present, err
}

// amend makes the ages of pages begin that have none: the process before has died between the two.
func (a *ages) amend() {
	a.s.idx.each(0, a.s.image.IndexPages-1, func(n uint64) {
		for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, a.s.image.Pages); page++ {
			if stored := a.s.idx.entry(page) != 0; stored != (a.bytes[page]&ageCode != ageNone) {
				a.bytes[page] = ageNone
				if stored {
					a.bytes[page] = ageNow
				}
			}
		}
	})
}

// exists reports whether page m of the table exists.
func (a *ages) exists(m uint64) bool {
	for n := m * agedIndexPages; n < min((m+1)*agedIndexPages, a.s.image.IndexPages); n++ {
		if a.s.idx.has(n) {
			return true
		}
	}
	return false
}

// absent is how many pages of the table do not exist that index pages from first to before end
// need.
func (a *ages) absent(first, end uint64) (n int64) {
	a.eachAbsent(first, end, func(uint64) { n++ })
	return n
}

func (a *ages) eachAbsent(first, end uint64, f func(m uint64)) {
	for m := first / agedIndexPages; m*agedIndexPages < end; m++ {
		if !a.exists(m) {
			f(m)
		}
	}
}

// populate takes the memory of the table for index pages that are about to exist.
func (a *ages) populate(first, end uint64) (err error) {
	a.eachAbsent(first, end, func(m uint64) {
		if err == nil {
			err = a.s.memory.populate(a.s.image.AgePageAt(m), PageSize)
		}
	})
	return err
}

// giveBack undoes populate. A page that cannot be given back is there for the next attempt.
func (a *ages) giveBack(first, end uint64) {
	a.eachAbsent(first, end, func(m uint64) { _ = a.s.memory.punch(a.s.image.AgePageAt(m), PageSize) })
}
