// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// A PageKind says what a View found of a page.
type PageKind uint8

// The kinds.
const (
	// PageEmpty holds nothing and reads as zeros.
	PageEmpty PageKind = iota
	// PageSame is one word, repeated.
	PageSame
	// PageObject has an object.
	PageObject
	// PageCorrupt is not what was written.
	PageCorrupt
	// PageWrittenBack lies on the backing device, which only the device's own processes can read:
	// what the image has of it is intact. Fetch tells such pages from other objects.
	PageWrittenBack
)

// A Window is some pages as a View found them: a run of pages, or the next of a Survey. It is
// filled in two steps: View.Look or Survey.Next finds what the pages hold, and View.Fetch copies
// objects when they are needed. It owns its slices and uses them again. It belongs to one
// goroutine; only Fetch may be called by several.
type Window struct {
	// First is the first page of a run. The pages of a Survey are no run; see Number.
	First uint64
	// Pages is how many there are.
	Pages int
	// Kind and Word are of each page; Word counts for those that are same-filled.
	Kind []PageKind
	Word []uint64

	// Page says of each object which page of the window it is, in ascending order. The length is
	// that of what follows.
	Page []uint32
	// ID, Offset and Length are the object itself: Arena[Offset:][:Length], once it was fetched. A
	// page of a cluster has none of its own, and is unpacked.
	ID     []codec.ID
	Offset []uint64
	Length []uint32
	// Arena holds the objects.
	Arena []byte

	surveyed bool          // the pages are no run
	numbers  []uint32      // of each page, if that is so
	entries  []image.Entry // of each page
	scratch  []byte        // 16 bytes a page, for the goroutine that works on that page
}

// Number is which page of the device page i of the window is.
func (w *Window) Number(i int) uint64 {
	if w.surveyed {
		return uint64(w.numbers[i])
	}
	return w.First + uint64(i)
}

// Stored is the length in the image of an object that was fetched, by its number in w; of one that
// pages share it is about the page's part. Bytes.
func (w *Window) Stored(object int) int { return w.entries[w.Page[object]].Share() }

// Shared reports whether pages share an object that was fetched, so that it was unpacked.
func (w *Window) Shared(object int) bool { return w.entries[w.Page[object]].Clustered() }

// ArenaSize is how many bytes the objects of n pages take at the most, as they lie in an arena.
func ArenaSize(n int) int { return n * image.MaxFootprint }

// NewWindow makes a window for up to n pages, with an arena of at least ArenaSize(n) bytes.
func NewWindow(arena []byte, n int) *Window {
	return &Window{
		Kind: make([]PageKind, n), Word: make([]uint64, n), Page: make([]uint32, 0, n), ID: make([]codec.ID, 0, n),
		Offset: make([]uint64, 0, n), Length: make([]uint32, 0, n), Arena: arena,
		entries: make([]image.Entry, n), scratch: make([]byte, 16*n),
	}
}

// Look fills w with pages from first on, up to end or as many as it has room for. A page that it
// calls PageCorrupt is corrupt; objects are yet to be fetched. It fails if the image cannot be
// read.
func (v *View) Look(w *Window, first, end uint64) error {
	end = min(end, v.geometry.Pages)
	w.reset(int(min(uint64(cap(w.entries)), end-min(first, end))))
	w.First, w.surveyed = first, false
	if err := v.readEntries(w.entries, first, w.scratch); err != nil {
		return err
	}
	for i, e := range w.entries {
		v.classify(w, i, e)
	}
	return nil
}

// reset makes room for n pages and no object.
func (w *Window) reset(n int) {
	w.Pages = n
	w.Page, w.ID, w.Offset, w.Length = w.Page[:0], w.ID[:0], w.Offset[:0], w.Length[:0]
	w.Kind, w.Word, w.entries = w.Kind[:n], w.Word[:n], w.entries[:n]
}

// classify finds by its entry which kind page i of a window is.
func (v *View) classify(w *Window, i int, e image.Entry) {
	word := uint64(0)
	scratch := w.scratch[16*i : 16*i+16]
	right := e.Valid(v.geometry.Segments) && e.Codec() != image.SameSlot
	if right && e.Same() {
		word, _ = v.word(w.Number(i), e, nil)
	} else if !right {
		e, right = v.readStable(w.Number(i), scratch, func(e image.Entry) (ok bool) {
			ok = true
			if e.Same() {
				word, ok = v.word(w.Number(i), e, scratch)
			}
			return ok
		})
	}
	w.entries[i] = e
	switch {
	case !right:
		w.Kind[i] = PageCorrupt
	case e.Object():
		w.Kind[i] = PageObject
		w.Page = append(w.Page, uint32(i))
		id, length := given(e)
		w.ID, w.Offset, w.Length = append(w.ID, id), append(w.Offset, 0), append(w.Length, length)
	default:
		w.setSame(i, e, word)
	}
}

// setSame says what a page without an object is.
func (w *Window) setSame(i int, e image.Entry, word uint64) {
	w.Kind[i], w.Word[i] = PageSame, word
	if e == 0 {
		w.Kind[i] = PageEmpty
	}
}

// Fetch copies objects, by their numbers in w, in ascending order, and proves them. Afterwards a
// page that was an object may be of any kind: the device may have written it since, or it may be
// corrupt. Several goroutines may fetch different objects of a window at the same time.
func (v *View) Fetch(w *Window, objects []uint32) {
	for len(objects) > 0 {
		n := w.neighbours(objects)
		v.fetchTogether(w, objects[:n])
		objects = objects[n:]
	}
}

// neighbours is how many of the objects follow each other in the window. No other goroutine works
// on the pages between them, or uses the arena there.
func (w *Window) neighbours(objects []uint32) int {
	first := objects[0]
	for n := 1; n < len(objects); n++ {
		if objects[n] != first+uint32(n) || !w.surveyed && w.Page[objects[n]]-w.Page[first] >= maxSpan {
			return n
		}
	}
	return len(objects)
}

// fetchTogether copies neighbours, and reads all their entries once after that. Objects that do not
// match are fetched one by one.
func (v *View) fetchTogether(w *Window, objects []uint32) {
	for rest := objects; len(rest) > 0; {
		n := w.run(rest)
		v.copyRun(w, rest[:n])
		rest = rest[n:]
	}
	first := w.Page[objects[0]]
	now := v.rereadEntries(w, objects)
	for _, o := range objects { // all of them before one is fetched, which takes the room of now
		if w.Length[o] == stale || !w.matches(o, now, first) {
			w.Length[o] = stale
		} else if w.ID[o] == image.WrittenBack {
			w.Kind[w.Page[o]] = PageWrittenBack
		}
	}
	for len(objects) > 0 {
		n := w.run(objects)
		v.refetch(w, objects[:n])
		objects = objects[n:]
	}
}

// stale is the length of an object that is to be fetched by itself. No object is that short.
const stale = 0

// refetch fetches the stale objects of a run, one by one, to where the run has left room, or the
// whole run if there is too little. On a device at work one object in a hundred may have changed
// since its entry was read, and so one of most runs.
func (v *View) refetch(w *Window, run []uint32) {
	n := uint32(0)
	for _, o := range run {
		if w.Length[o] == stale {
			n++
		}
	}
	if n == 0 {
		return
	}
	last := run[len(run)-1]
	used := w.Offset[last] - image.HeaderSize + uint64(image.Footprint(w.entries[w.Page[last]].Length()))
	slot := last + 1
	apart := uint64(slot-n)*image.MaxFootprint >= used
	for _, o := range run {
		switch {
		case !apart:
			v.fetchOne(w, o, o)
		case w.Length[o] == stale:
			slot--
			v.fetchOne(w, o, slot)
		}
	}
}

// rereadEntries reads the entries of neighbours once more, from the first one's page to the last
// one's. The pages of a surveyed window lie anywhere, and their objects prove enough: see Survey.
func (v *View) rereadEntries(w *Window, objects []uint32) []byte {
	if w.surveyed {
		return nil
	}
	first, last := w.Page[objects[0]], w.Page[objects[len(objects)-1]]
	raw := w.scratch[16*first:][:8*(last+1-first)]
	if v.readRaw(raw, w.First+uint64(first)) != nil {
		clear(raw)
	}
	return raw
}

// run is how many of some neighbours lie so close together that one call copies them best, within
// the room that the arena has for as many. A page of a cluster is fetched by itself.
func (w *Window) run(objects []uint32) int {
	e := w.entries[w.Page[objects[0]]]
	if e.Clustered() {
		return 1
	}
	begin, end := e.Where(), e.Where()+uint64(image.Footprint(e.Length()))
	for n := 1; n < len(objects); n++ {
		next := w.entries[w.Page[objects[n]]]
		if !e.Object() || !next.Object() || next.Clustered() || next.Where() < end || next.Where() > end+maxGap {
			return n
		}
		if end = next.Where() + uint64(image.Footprint(next.Length())); end-begin > uint64(n+1)*image.MaxFootprint {
			return n
		}
	}
	return len(objects)
}

// copyRun copies a run of objects and notes where they are.
func (v *View) copyRun(w *Window, run []uint32) {
	if w.entries[w.Page[run[0]]].Clustered() {
		w.Offset[run[0]], w.Length[run[0]] = uint64(run[0])*image.MaxFootprint+image.HeaderSize, stale
		return
	}
	begin, base, end := w.entries[w.Page[run[0]]].Where(), uint64(run[0])*image.MaxFootprint, uint64(0)
	for _, o := range run {
		e := w.entries[w.Page[o]]
		at := base + e.Where() - begin
		end = at + uint64(image.Footprint(e.Length()))
		w.Offset[o], w.Length[o], w.ID[o] = at+image.HeaderSize, uint32(e.Length()), e.Codec()
	}
	p := w.Arena[base:end]
	if v.read(p, v.geometry.ObjectAt(begin)) != nil {
		clear(p) // which proves nothing
	}
}

// matches reports whether the object copied is the one that its page's entry names, and the entry
// has not changed; now holds the entries from page first of the window on, except in a survey.
func (w *Window) matches(o uint32, now []byte, first uint32) bool {
	i := w.Page[o]
	e := w.entries[i]
	if !w.surveyed && image.DecodeEntry(now[8*(i-first):]) != e {
		return false
	}
	return e.Object() && image.Proves(w.Arena[w.Offset[o]-image.HeaderSize:], w.Number(int(i)), e)
}

// fetchOne copies an object whose page may be changing, to slot of the arena.
func (v *View) fetchOne(w *Window, o, slot uint32) {
	i := int(w.Page[o])
	page, at, scratch := w.Number(i), int64(slot)*image.MaxFootprint, w.scratch[16*i:16*i+16]
	word := uint64(0)
	e, right := v.readStable(page, scratch, func(e image.Entry) (ok bool) {
		switch {
		case e == 0:
			return true
		case e.Same():
			word, ok = v.word(page, e, scratch)
			return ok
		case e.Clustered():
			return v.member(w.Arena[at+image.HeaderSize:][:image.PageSize], page, e)
		}
		p := w.Arena[at:][:image.Footprint(e.Length())]
		return v.read(p, v.geometry.ObjectAt(e.Where())) == nil && image.Proves(p, page, e)
	})
	w.entries[i] = e
	switch {
	case !right:
		w.Kind[i] = PageCorrupt
	case e.Object():
		w.Kind[i] = PageObject
		if e.WrittenBack() {
			w.Kind[i] = PageWrittenBack
		}
		w.Offset[o] = uint64(at) + image.HeaderSize
		w.ID[o], w.Length[o] = given(e)
	default:
		w.setSame(i, e, word)
	}
}
