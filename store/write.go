// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"sync"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

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

// replace writes a whole page. It compresses and places the page first, so that the
// lock covers the publication only.
func (w *Worker) replace(page uint64, src []byte) error {
	if err := w.ensureIndex(page); err != nil {
		return err
	}
	e, err := w.encode(page, src)
	if err != nil {
		return err
	}
	l := w.lockPage(page)
	w.publish(page, e)
	l.Unlock()
	return nil
}

// encode returns the entry to publish for a page of src: of a word that fills it,
// or of an object in fresh space.
func (w *Worker) encode(page uint64, src []byte) (image.Entry, error) {
	if word, ok := pagescan.SameFilled(src); ok {
		if e, ok := w.s.same.ref(word); ok {
			return e, nil
		}
	}
	c := w.coder.Load()
	w.setEffort(c)
	id, n, err := c.compressor.Compress(w.packed[:], src)
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

// lockPage takes the lock of a page whose entry is about to be replaced. It first
// sweeps the segment that the entry points into, if a process died with it.
func (w *Worker) lockPage(page uint64) *sync.Mutex {
	w.s.sweepUnder(page)
	l := w.s.lock(page)
	l.Lock()
	return l
}

// publish makes e the entry of a page, retires the entry that it replaces and
// returns that. All that writes, puts and discards end here. The caller holds the
// page's lock.
func (w *Worker) publish(page uint64, e image.Entry) (old image.Entry) {
	invariant.Point("entry to be published")
	old = w.s.idx.swap(page, e)
	w.s.ages.noteWrite(page, e)
	invariant.Point("entry published")
	w.count.add(e, +1)
	w.result.add(e)
	if !old.Valid(w.s.image.Segments) {
		w.corrupt(page, nil)
		return old
	}
	w.count.add(old, -1)
	if old.Object() && !w.s.owns(page, old) { // damaged: to free it could hit another page
		w.corrupt(page, nil)
		return old
	}
	w.dropRef(page, old)
	return old
}

// update changes n bytes of a page to src, or to zeros where src is nil. It waits
// for memory before it takes the lock, and never with it.
func (w *Worker) update(page uint64, off, n int, src []byte) error {
	if err := w.prepare(page); err != nil {
		return err
	}
	l, err := w.lockLoaded(page)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if part := w.page[off : off+n]; src == nil {
		clear(part)
	} else {
		copy(part, src)
	}
	e, err := w.encode(page, w.page[:])
	if err != nil {
		return err
	}
	w.publish(page, e)
	return nil
}

// lockLoaded takes the lock of a page whose entry is about to be replaced, with the page in w.page.
// It waits for the backing device without the lock, and reads again what a request changes during
// that.
func (w *Worker) lockLoaded(page uint64) (*sync.Mutex, error) {
	var brought, failed uint64 // serial numbers of stubs
	var bad error
	for {
		l := w.lockPage(page)
		err := w.load(page, w.s.idx.load(page), 0, w.page[:])
		if err == nil || err == errAway && w.stub.Serial == brought {
			return l, nil
		}
		l.Unlock()
		if err == errAway && w.stub.Serial != failed {
			st := w.stub
			if bad = w.readBack(page, &st); bad == nil {
				brought = st.Serial
			} else {
				failed = st.Serial
			}
			continue
		}
		if err == errAway {
			err = bad
		}
		if errors.Is(err, ErrCorrupt) {
			w.corrupt(page, err)
		}
		return nil, err
	}
}

// prepare makes sure that the index page exists and that the open segment has room
// for any page.
func (w *Worker) prepare(page uint64) error {
	if err := w.ensureIndex(page); err != nil || w.open.next+image.MaxFootprint <= w.open.end {
		return err
	}
	return w.nextSegment()
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
	l := w.lockPage(page)
	old := w.publish(page, 0)
	l.Unlock()
	if old != 0 {
		w.count.discards.Add(1)
		w.s.idx.noteDiscard()
	}
}
