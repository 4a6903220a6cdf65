// SPDX-License-Identifier: Apache-2.0

package view

import (
	"math/bits"
	"slices"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A Survey goes through all pages of a View that hold anything, in the order in which their objects
// lie in the image. The objects of pages that were written at random are scattered: in the order of
// pages each needs a call of its own to be copied, while a Survey copies many in one call.
//
// It reads the entry of a page long before it copies the object, and does not read it again if the
// copy is proved: the object is then what the page held since the survey began, or, where the page
// is being written at that moment, what it is about to hold. That says that the page is intact. For
// its current bytes, as opposed to those of a write that failed, use View.Look.
//
// It takes up to 56 MiB: 28 bytes for each page that holds anything, for 8 GiB of pages at a time.
// Objects scattered over more than that leave gaps in each part, and the gain is less. A Survey
// belongs to one goroutine.
type Survey struct {
	view      *View         // immutable
	next, end uint64        // pages that are yet to be looked at
	maxPages  int           // to be sorted at a time; immutable
	scratch   []byte        // for surveyBlock entries
	entries   []image.Entry // those that were found, in the order of pages
	numbers   []uint32      // whose they are
	order     []uint64      // where they lie, in units, above surveyBits of an index of entries
	spare     []uint64      // as long
	rest      []uint64      // of order, sorted
}

const (
	surveyBits  = 64 - image.WhereBits
	surveyPages = 1 << 21                  // at a time; no more than fit surveyBits
	surveyBlock = 8 * image.EntriesPerPage // entries that are read at a time
	digitBits   = 11                       // sorted by at a time
)

// Survey begins to go through the pages from first to before end.
func (v *View) Survey(first, end uint64) *Survey {
	end = min(end, v.geometry.Pages)
	n := int(min(surveyPages, end-min(first, end)))
	return &Survey{
		view: v, next: first, end: end, maxPages: n, scratch: make([]byte, 8*surveyBlock),
		entries: make([]image.Entry, 0, n), numbers: make([]uint32, 0, n), order: make([]uint64, 0, n), spare: make([]uint64, n),
	}
}

// Next fills w with what comes next, as many pages as it is for, or with none at the end. It says
// of them what Look does, and Fetch copies their objects. It fails if the image cannot be read.
func (s *Survey) Next(w *Window) error {
	if len(s.rest) == 0 {
		if err := s.gather(); err != nil {
			return err
		}
	}
	if w.numbers == nil {
		w.numbers = make([]uint32, cap(w.entries))
	}
	w.reset(min(len(s.rest), cap(w.entries)))
	w.First, w.surveyed = 0, true
	for i := range w.entries {
		at := s.rest[i] & (1<<surveyBits - 1)
		w.entries[i], w.numbers[i] = s.entries[at], s.numbers[at]
	}
	s.rest = s.rest[w.Pages:]
	for i, e := range w.entries {
		s.view.classify(w, i, e)
	}
	return nil
}

// gather finds the pages of the next part and sorts them.
func (s *Survey) gather() error {
	s.entries, s.numbers, s.order = s.entries[:0], s.numbers[:0], s.order[:0]
	var block [surveyBlock]image.Entry
	for len(s.entries) < s.maxPages {
		var err error
		if s.next, err = s.view.Next(s.next); err != nil {
			return err
		}
		if s.next >= s.end {
			break
		}
		found := block[:min(surveyBlock, s.end-s.next, uint64(s.maxPages-len(s.entries)))]
		if err := s.view.readEntries(found, s.next, s.scratch); err != nil {
			return err
		}
		s.take(found)
	}
	s.rest = sortPlaces(s.order, s.spare[:len(s.order)])
	return nil
}

// take notes what was found from the next page on.
func (s *Survey) take(found []image.Entry) {
	for _, e := range found {
		if e != 0 {
			place := uint64(len(s.entries))
			if e.Object() {
				place |= e.Where() / image.Unit << surveyBits
			}
			s.entries, s.numbers, s.order = append(s.entries, e), append(s.numbers, uint32(s.next)), append(s.order, place)
		}
		s.next++
	}
}

// sortPlaces sorts by all but the lowest surveyBits, what is equal there as it was, and returns
// which of the two slices holds the result. It takes a tenth of the time of a sort by comparison,
// which all processors would wait for.
func sortPlaces(places, spare []uint64) []uint64 {
	if slices.IsSorted(places) {
		return places
	}
	for shift, end := surveyBits, bits.Len64(slices.Max(places)); shift < end; shift += digitBits {
		var at [1 << digitBits]int
		for _, p := range places {
			at[p>>shift%(1<<digitBits)]++
		}
		sum := 0
		for digit, n := range at {
			at[digit] = sum
			sum += n
		}
		for _, p := range places {
			digit := p >> shift % (1 << digitBits)
			spare[at[digit]] = p
			at[digit]++
		}
		places, spare = spare, places
	}
	return places
}
