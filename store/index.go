// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// index is the truth about every page. The pages of a large device's index are taken from the
// machine when they are first needed. A bitmap says which exist; the others are never touched,
// since even reading a hole of the image would fill it. The bitmap has two twins outside the image,
// and an index page exists where two of the three say so: a flipped bit neither hides one nor makes
// one up. The maintainer mends what differs. Open and a View ask the memory file which exist. Only
// the maintainer takes index pages: behind one that exists a piece at a time, and some pieces ahead
// of where each worker writes, so that a device that is filled in order, as the kernel fills swap,
// never waits; elsewhere one alone, for 2 MiB of device. It gives empty ones back, see giving.
type index struct {
	s       *Store             // immutable
	entries []atomic.Uint64    // immutable view; elements atomic
	bitmap  []atomic.Uint64    // immutable view; written under passMu
	twins   [2][]atomic.Uint64 // as bitmap; immutable slices, nil where the whole index exists
	present atomic.Int64       // that have memory: bits set, and pages that are leaving
	whole   bool               // the whole index exists; immutable once the store is open
	mended  uint64             // word of the bitmap that mend comes to next; guarded by passMu
	giving  giving
}

const (
	piecePages  = 64 // index pages taken at a time: a word of the bitmap, 128 MiB of device
	aheadPieces = 2  // that exist ahead of each worker: 512 KiB for 256 MiB of device
)

func (x *index) init(s *Store) error {
	x.s, x.entries, x.bitmap = s, s.image.Index(), s.image.Bitmap()
	var err error
	if s.cfg.Disksize <= populateUpTo {
		err = x.populate()
	} else {
		for i := range x.twins {
			x.twins[i] = make([]atomic.Uint64, len(x.bitmap))
		}
		err = errors.Join(x.ask(), x.adoptPresent())
		s.workers[0].lastIndexPage.Store(1) // begins at the beginning
	}
	if err != nil {
		return err
	}
	x.each(0, s.image.IndexPages-1, func(uint64) { x.present.Add(1) })
	x.giving.init(len(s.workers) - 1)
	s.charged.Store(s.indexBytes())
	return nil
}

// has reports whether index page n exists.
func (x *index) has(n uint64) bool {
	return x.whole || x.word(n/64)>>(n%64)&1 != 0
}

// word is what two of the bitmap and its twins say of the 64 index pages from 64*i on.
func (x *index) word(i uint64) uint64 {
	a, b := x.bitmap[i].Load(), x.twins[0][i].Load()
	if a == b {
		return a
	}
	c := x.twins[1][i].Load()
	return a&b | a&c | b&c
}

// note makes has say that index page n exists. The caller holds passMu.
func (x *index) note(n uint64) {
	for _, bits := range [][]atomic.Uint64{x.bitmap, x.twins[0], x.twins[1]} {
		bits[n/64].Or(1 << (n % 64))
	}
}

// set makes the bitmap and its twins say the same of the 64 index pages from 64*i on. The caller
// holds passMu.
func (x *index) set(i, word uint64) {
	for _, bits := range [][]atomic.Uint64{x.bitmap, x.twins[0], x.twins[1]} {
		bits[i].Store(word)
	}
}

// mendAtOnce is for how many words of the bitmap a pass of the maintainer looks: 64 GiB of device,
// about a microsecond.
const mendAtOnce = 512

// mend makes copies of the bitmap that differ from the other two the same again. The caller holds
// passMu, and the index is not whole.
func (x *index) mend() {
	for range min(mendAtOnce, len(x.bitmap)) {
		if i := x.mended; x.bitmap[i].Load() != x.twins[0][i].Load() || x.bitmap[i].Load() != x.twins[1][i].Load() {
			x.set(i, x.word(i))
		}
		x.mended = (x.mended + 1) % uint64(len(x.bitmap))
	}
}

// ask notes the index pages that the memory file holds, and no others: those that the bitmap names,
// and those that it has lost. A page of zeros that the bitmap does not name was taken by a process
// that died before it noted it.
func (x *index) ask() error {
	if x.s.memory.Kind() == MemoryHeap { // Go memory does not tell what was taken
		for i := range uint64(len(x.bitmap)) {
			x.set(i, x.bitmap[i].Load())
		}
		return nil
	}
	var page [PageSize]byte
	begin, end := x.s.image.IndexOffset, x.s.image.IndexOffset+int64(x.s.image.IndexPages*PageSize)
	for off := begin; off < end; {
		data, hole, err := x.s.memory.nextData(off)
		if err != nil {
			return err
		}
		for off = data; off < min(hole, end); off += PageSize {
			n := uint64(off-begin) / PageSize
			named := x.bitmap[n/64].Load()>>(n%64)&1 != 0
			if !named {
				if err := x.s.memory.readAt(page[:], off); err != nil {
					return err
				}
			}
			if named || page != [PageSize]byte{} {
				x.twins[0][n/64].Or(1 << (n % 64))
			}
		}
	}
	for i := range uint64(len(x.bitmap)) {
		x.set(i, x.twins[0][i].Load())
	}
	return nil
}

// load is the entry of a page, 0 where its index page does not exist.
func (x *index) load(page uint64) image.Entry {
	if !x.has(page / image.EntriesPerPage) {
		return 0
	}
	return x.entry(page)
}

// entry is the entry of a page whose index page exists.
func (x *index) entry(page uint64) image.Entry { return image.Entry(x.entries[page].Load()) }

// swap publishes e, whose index page exists, and returns what it replaces. The
// caller holds the page's lock.
func (x *index) swap(page uint64, e image.Entry) image.Entry {
	return image.Entry(x.entries[page].Swap(uint64(e)))
}

// ensureIndex makes the index page of a page exist: it waits for the maintainer,
// if it must. It fails with ErrFull. The caller holds no page's lock.
func (w *Worker) ensureIndex(page uint64) error {
	s, n := w.s, page/image.EntriesPerPage
	if s.idx.whole {
		return nil
	}
	if w.lastIndexPage.Load() != n+1 {
		w.lastIndexPage.Store(n + 1)
		if s.idx.inOrder(n) && !s.idx.has(min(n+aheadPieces*piecePages, s.image.IndexPages-1)) {
			s.poke()
		}
	}
	if s.idx.has(n) {
		return nil
	}
	crowded := s.waiting.Add(1) > s.mayWait
	defer s.waiting.Add(-1)
	w.stepAside(true)
	w.reclaim(true)
	w.parked.Store(true)
	defer w.parked.Store(false)
	for m := w.waitForMemory(crowded); !s.idx.has(n); m.pause() {
		if m.over() {
			return ErrFull
		}
	}
	return nil
}

// grow takes the index pages that workers wait for, and those ahead of them while
// there is enough memory. The caller holds passMu.
func (x *index) grow() {
	if x.whole {
		return
	}
	x.mend()
	for _, w := range x.s.workers {
		last := w.lastIndexPage.Load()
		if last == 0 {
			continue
		}
		n := last - 1
		if !x.inOrder(n) {
			x.take(n, n+1, true)
			continue
		}
		first := n &^ (piecePages - 1)
		if !x.has(n) && !(x.roomy() && x.take(first, first+piecePages, false)) {
			x.take(n, n+1, true)
		}
		for ahead := first + piecePages; ahead <= first+aheadPieces*piecePages && ahead < x.s.image.IndexPages; ahead += piecePages {
			if !x.roomy() || !x.take(ahead, ahead+piecePages, false) {
				break
			}
		}
	}
}

// inOrder reports whether writes may go on behind index page n, since something was written before
// it: a device that is written here and there takes the index pages that it needs, and no others.
func (x *index) inOrder(n uint64) bool { return n == 0 || x.has(n-1) }

// roomy reports whether there is memory for index pages ahead of writers, beyond what
// the segments need to work with.
func (x *index) roomy() bool {
	return !scarce(x.s.used()+int64(minSegments+x.s.target())*image.SegmentSize, x.s.maxMemory())
}

// back takes memory for index pages, whose absent bytes are charged already, or undoes the charge.
// Pages that cannot be given back either are there for the next attempt.
func (x *index) back(first, end uint64, absent int64) bool {
	err := x.s.firmly(func() error {
		err := x.s.memory.populate(x.s.image.IndexPageAt(first), int64((end-first)*PageSize))
		if err == nil {
			err = x.s.ages.populate(first, end)
		}
		return err
	})
	if err == nil {
		return true
	}
	x.s.charged.Add(-absent)
	for n := first; n < end; n++ {
		if !x.has(n) {
			_ = x.s.memory.punch(x.s.image.IndexPageAt(n), PageSize)
		}
	}
	x.s.ages.giveBack(first, end)
	return false
}

// take makes the index pages from first to before end exist and reports whether
// they do. With cede a ready segment may be given up for them.
func (x *index) take(first, end uint64, cede bool) bool {
	end = min(end, x.s.image.IndexPages)
	x.revive(first, end)
	absent := int64(0)
	for n := first; n < end; n++ {
		if !x.has(n) {
			absent += PageSize
		}
	}
	if absent == 0 {
		return true
	}
	ages := x.s.ages.absent(first, end)
	absent += ages * PageSize
	if !(x.s.charge(absent) && x.back(first, end, absent)) && !(cede && x.s.cedeSegment(absent) && x.back(first, end, absent)) {
		return false
	}
	invariant.Point("index page taken")
	x.s.ages.present.Add(ages)
	for n := first; n < end; n++ {
		if !x.has(n) {
			x.note(n)
			x.present.Add(1)
		}
		invariant.Point("index page noted")
	}
	return true
}

// populate makes the whole index exist, in pieces that a signal may interrupt.
func (x *index) populate() error {
	const piece = 64 << 20
	size := int64(x.s.image.IndexPages * PageSize)
	for off := int64(0); off < size; off += piece {
		if err := x.s.memory.populate(x.s.image.IndexOffset+off, min(piece, size-off)); err != nil {
			return fmt.Errorf("%w: %w", ErrNoMemory, err)
		}
	}
	for n := range x.s.image.IndexPages {
		x.bitmap[n/64].Or(1 << (n % 64))
	}
	x.whole = true
	return nil
}

// adoptPresent maps the index pages that exist and gives back those that do not: a
// process that died may have taken one and not come to say so.
func (x *index) adoptPresent() error {
	next := uint64(0) // what lies before it is dealt with
	var bad error
	deal := func(to uint64, f func(off, n int64) error) {
		if next < to {
			bad = errors.Join(bad, f(x.s.image.IndexPageAt(next), int64((to-next)*PageSize)))
			next = to
		}
	}
	end := uint64(0) // of the run of pages that exist
	x.each(0, x.s.image.IndexPages-1, func(n uint64) {
		if n != end {
			deal(end, x.s.memory.adopt)
			deal(n, x.s.memory.punch)
		}
		end = n + 1
	})
	deal(end, x.s.memory.adopt)
	deal(x.s.image.IndexPages, x.s.memory.punch)
	return bad
}

// each calls f for every index page from first to last that exists.
func (x *index) each(first, last uint64, f func(n uint64)) {
	if x.whole {
		for n := first; n <= last; n++ {
			f(n)
		}
		return
	}
	for word := first / 64; word <= last/64; word++ {
		for set := x.word(word); set != 0; set &= set - 1 {
			n := word*64 + uint64(bits.TrailingZeros64(set))
			if n >= first && n <= last {
				f(n)
			}
		}
	}
}
