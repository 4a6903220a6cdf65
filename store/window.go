// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"

	"zramfs/codec"
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
)

// A Window is a run of pages as a View found them. It is filled in two steps: Look says what there is, and Fetch copies objects, when and
// by whom they are needed. All slices are its own, and used again. It belongs to one goroutine, but for Fetch.
type Window struct {
	// First is the first page, of Pages.
	First uint64
	Pages int
	// Kind and Word are of each page; Word counts for those that are same-filled.
	Kind []PageKind
	Word []uint64

	// Page says of each object which page of the window it is, in ascending order. The length is that of what follows.
	Page []uint32
	// ID, Offset and Length are the object itself: Arena[Offset:][:Length], once it was fetched.
	ID     []codec.ID
	Offset []uint64
	Length []uint32
	// Arena holds the objects.
	Arena []byte

	entries []entry // of each page
	scratch []byte  // 16 bytes a page, for whoever works on that page
}

// ArenaSize is how many bytes the objects of n pages take at the most, as they lie in an arena.
func ArenaSize(n int) int { return n * maxFootprint }

// NewWindow makes a window for up to n pages.
func NewWindow(n int) *Window { return NewWindowIn(make([]byte, ArenaSize(n)), n) }

// NewWindowIn makes one with an Arena of the caller's, of ArenaSize bytes at least.
func NewWindowIn(arena []byte, n int) *Window {
	return &Window{
		Kind: make([]PageKind, n), Word: make([]uint64, n), Page: make([]uint32, 0, n), ID: make([]codec.ID, 0, n),
		Offset: make([]uint64, 0, n), Length: make([]uint32, 0, n), Arena: arena,
		entries: make([]entry, n), scratch: make([]byte, 16*n),
	}
}

// Look fills w with the pages from first on to before end, as many as it is for, or as there are. What it calls corrupt is. Objects are yet to be fetched.
// It fails if the image cannot be read.
func (v *View) Look(w *Window, first, end uint64) error {
	end = min(end, v.pages)
	w.First, w.Pages = first, int(min(uint64(cap(w.entries)), end-min(first, end)))
	w.Page, w.ID, w.Offset, w.Length = w.Page[:0], w.ID[:0], w.Offset[:0], w.Length[:0]
	w.Kind, w.Word, w.entries = w.Kind[:w.Pages], w.Word[:w.Pages], w.entries[:w.Pages]
	raw := w.scratch[:8*w.Pages]
	if err := v.entries(raw, first); err != nil {
		return err
	}
	for i := range w.entries {
		w.entries[i] = entry(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	if err := v.entries(raw, first); err != nil {
		return err
	}
	for i, e := range w.entries {
		if entry(binary.LittleEndian.Uint64(raw[8*i:])) != e {
			w.entries[i] = badEntry // in motion: to be looked at by itself
		}
	}
	for i, e := range w.entries {
		v.sort(w, i, e)
	}
	return nil
}

// sort notes of what kind page i of a window is, by its entry.
func (v *View) sort(w *Window, i int, e entry) {
	word := uint64(0)
	scratch := w.scratch[16*i : 16*i+16]
	right := e.valid(v.segments) && e.codec() != sameWordSlot
	if right && e.same() {
		word, _ = v.word(e, nil)
	} else if !right {
		e, right = v.agree(w.First+uint64(i), scratch, func(e entry) (ok bool) {
			ok = true
			if e.same() {
				word, ok = v.word(e, scratch)
			}
			return ok
		})
	}
	w.entries[i] = e
	switch {
	case !right:
		w.Kind[i] = PageCorrupt
	case e.object():
		w.Kind[i] = PageObject
		w.Page = append(w.Page, uint32(i))
		w.ID, w.Offset, w.Length = append(w.ID, e.codec()), append(w.Offset, 0), append(w.Length, uint32(e.length()))
	default:
		w.note(i, e, word)
	}
}

// note says what a page without an object is.
func (w *Window) note(i int, e entry, word uint64) {
	w.Kind[i], w.Word[i] = PageSame, word
	if e == 0 {
		w.Kind[i] = PageEmpty
	}
}

// Fetch copies objects, by their numbers in w, in ascending order, and proves them. Afterwards a page that was an object may be of any kind, since it may have
// been written meanwhile, or be corrupt. Several goroutines may fetch different objects of a window at the same time.
func (v *View) Fetch(w *Window, objects []uint32) {
	for len(objects) > 0 {
		n := w.neighbours(objects)
		v.fetchTogether(w, objects[:n])
		objects = objects[n:]
	}
}

// neighbours is how many of the objects follow each other in the window, so that nobody else works on the pages between them.
func (w *Window) neighbours(objects []uint32) int {
	first := objects[0]
	for n := 1; n < len(objects); n++ {
		if objects[n] != first+uint32(n) || w.Page[objects[n]]-w.Page[first] >= viewSpan {
			return n
		}
	}
	return len(objects)
}

// fetchTogether copies neighbours, and looks at all their entries once after that. A run of which anything is not right is fetched one by one.
func (v *View) fetchTogether(w *Window, objects []uint32) {
	for rest := objects; len(rest) > 0; {
		n := w.run(rest)
		v.copyRun(w, rest[:n])
		rest = rest[n:]
	}
	first, last := int(w.Page[objects[0]]), int(w.Page[objects[len(objects)-1]])
	raw := w.scratch[16*first:][:8*(last+1-first)]
	if v.entries(raw, w.First+uint64(first)) != nil {
		clear(raw)
	}
	for o := objects[0]; len(objects) > 0; o = objects[0] {
		n := w.run(objects)
		if !w.right(objects[:n], raw[8*(int(w.Page[o])-first):]) {
			for _, o := range objects[:n] {
				v.fetchOne(w, o)
			}
		}
		if objects = objects[n:]; len(objects) == 0 {
			return
		}
	}
}

// run is how many of some neighbours lie so close together that they are best copied at once, one after the other where there is room for as
// many in the arena.
func (w *Window) run(objects []uint32) int {
	e := w.entries[w.Page[objects[0]]]
	begin, end := e.where(), e.where()+uint64(footprint(e.length()))
	for n := 1; n < len(objects); n++ {
		next := w.entries[w.Page[objects[n]]]
		if !e.object() || !next.object() || next.where() < end || next.where() > end+viewGap {
			return n
		}
		if end = next.where() + uint64(footprint(next.length())); end-begin > uint64(n+1)*maxFootprint {
			return n
		}
	}
	return len(objects)
}

// copyRun copies a run of objects and notes where they are.
func (v *View) copyRun(w *Window, run []uint32) {
	begin, base, end := w.entries[w.Page[run[0]]].where(), uint64(run[0])*maxFootprint, uint64(0)
	for _, o := range run {
		e := w.entries[w.Page[o]]
		at := base + e.where() - begin
		end = at + uint64(footprint(e.length()))
		w.Offset[o], w.Length[o], w.ID[o] = at+headerSize, uint32(e.length()), e.codec()
	}
	p := w.Arena[base:end]
	if v.read(p, v.dataOffset+int64(begin)) != nil {
		clear(p) // which proves nothing
	}
}

// right reports whether a run is what its entries say, and these have not changed; raw is theirs and of what lies between.
func (w *Window) right(run []uint32, raw []byte) bool {
	first := w.Page[run[0]]
	for _, o := range run {
		i := w.Page[o]
		e := w.entries[i]
		if !e.object() || entry(binary.LittleEndian.Uint64(raw[8*(i-first):])) != e ||
			!proved(w.Arena[w.Offset[o]-headerSize:], w.First+uint64(i), e) {
			return false
		}
	}
	return true
}

// fetchOne copies an object whose page may be in motion.
func (v *View) fetchOne(w *Window, o uint32) {
	i := int(w.Page[o])
	page, at, scratch := w.First+uint64(i), int64(o)*maxFootprint, w.scratch[16*i:16*i+16]
	word := uint64(0)
	e, right := v.agree(page, scratch, func(e entry) (ok bool) {
		switch {
		case e == 0:
			return true
		case e.same():
			word, ok = v.word(e, scratch)
			return ok
		}
		p := w.Arena[at:][:footprint(e.length())]
		return v.read(p, v.dataOffset+int64(e.where())) == nil && proved(p, page, e)
	})
	w.entries[i] = e
	switch {
	case !right:
		w.Kind[i] = PageCorrupt
	case e.object():
		w.Kind[i] = PageObject
		w.Offset[o], w.Length[o], w.ID[o] = uint64(at)+headerSize, uint32(e.length()), e.codec()
	default:
		w.note(i, e, word)
	}
}
