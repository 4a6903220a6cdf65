// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"slices"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A bySize goes through objects by classes of their length, the class of the longest first, and in
// a class by page. A window holds the next few, so that no list of all is needed. Classes that fit
// into one window together share a scan of the index: there are sizeClasses scans at the most, and
// one that counts, whatever the size of the device.
type bySize struct {
	s      *Store
	wanted func(page uint64, e image.Entry) bool
	// batch deals with some of the first candidates of a window and returns how many.
	batch func(window []candidate) (dealt int, err error)
	// pause is called after each piece, and after each stretch of a scan. errEnough of it ends
	// all without an error.
	pause   func() error
	window  int // the most candidates at a time
	buffer  []candidate
	scanned uint64 // index pages that scans went over
}

const (
	classBytes  = 64
	sizeClasses = PageSize/classBytes + 1
	windowPages = 16 << 10
	scanPages   = 256 // index pages of a stretch: some tenths of a millisecond
)

// errEnough ends a bySize.
var errEnough = errors.New("enough")

type candidate struct {
	page  uint64
	class int
}

func (b *bySize) run() error {
	var spread [sizeClasses]int
	_, err := b.scan(0, 0, sizeClasses-1, func(c candidate) bool { spread[c.class]++; return true })
	if err == nil {
		err = b.forEachBySize(&spread)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// forEachBySize deals with the wanted pages; spread has their number in each class.
func (b *bySize) forEachBySize(spread *[sizeClasses]int) (err error) {
	for top := sizeClasses - 1; top >= 0 && err == nil; {
		last, total := top, spread[top]
		for last > 0 && total+spread[last-1] <= b.window {
			last--
			total += spread[last]
		}
		if total > 0 {
			err = b.classes(last, top)
		}
		top = last - 1
	}
	return err
}

// classes deals with the wanted pages of the classes from last up to top.
func (b *bySize) classes(last, top int) error {
	window := b.buffer
	for page := uint64(0); page < b.s.image.Pages; {
		window = window[:0]
		next, err := b.scan(page, last, top, func(c candidate) bool {
			window = append(window, c)
			return len(window) < b.window
		})
		if err != nil {
			return err
		}
		page = next
		slices.SortStableFunc(window, func(a, b candidate) int { return b.class - a.class })
		if err := b.all(window); err != nil {
			return err
		}
	}
	return nil
}

// all deals with the candidates of a window.
func (b *bySize) all(window []candidate) error {
	for len(window) > 0 {
		n, err := b.batch(window)
		if err == nil {
			err = b.pause()
		}
		if err != nil {
			return err
		}
		window = window[n:]
	}
	return nil
}

// scan calls f for the wanted pages of the classes from last up to top, by page from a page on,
// until f returns false. It returns the page to go on with.
func (b *bySize) scan(page uint64, last, top int, f func(candidate) bool) (next uint64, err error) {
	s := b.s
	for stretch := uint64(1); page < s.image.Pages; stretch++ {
		more := true
		if page, more = b.scanIndexPage(page, last, top, f); !more {
			return page, nil
		}
		if stretch%scanPages == 0 {
			if err := b.pause(); err != nil {
				return page, err
			}
		}
	}
	return s.image.Pages, nil
}

// scanIndexPage does what scan does up to the end of the first index page that exists. more is
// false where f returned false, or no index page is left.
func (b *bySize) scanIndexPage(page uint64, last, top int, f func(candidate) bool) (next uint64, more bool) {
	s := b.s
	s.idx.giving.held.RLock()
	defer s.idx.giving.held.RUnlock()
	n := s.idx.next(page/image.EntriesPerPage, true)
	if n >= s.image.IndexPages {
		return s.image.Pages, false
	}
	b.scanned++
	for page = max(page, n*image.EntriesPerPage); page < min((n+1)*image.EntriesPerPage, s.image.Pages); page++ {
		e := s.idx.entry(page)
		if e == 0 {
			continue
		}
		class := e.Share() / classBytes
		if class >= last && class <= top && b.wanted(page, e) && !f(candidate{page, class}) {
			return page + 1, false
		}
	}
	return page, true
}

// pagesOf appends the wanted pages of a full segment to a list that has room for them, but for
// those of an object that several pages share, which may be any of them.
func (s *Store) pagesOf(n uint64, list []candidate, wanted func(page uint64, e image.Entry) bool) []candidate {
	w, seg := s.acquireLast(), s.segment(n) // with the worker, since Check finds no segment between states
	defer w.Release()
	if !seg.turn(segSealed, segMoving) {
		return list
	}
	for where := range s.objects(n) {
		page := uint64(s.image.HeaderAt(where).Page)
		if page >= s.image.Pages || len(list) == cap(list) {
			continue
		}
		if e := s.idx.load(page); wanted(page, e) && e.Segment() == n {
			list = append(list, candidate{page: page})
		}
	}
	seg.turn(segMoving, segSealed)
	s.emptied(n)
	return list
}
