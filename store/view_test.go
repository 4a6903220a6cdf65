// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/view"
)

func newWindow(n int) *view.Window { return view.NewWindow(make([]byte, view.ArenaSize(n)), n) }

// stillView views a copy of the image of a store that is at rest.
func stillView(t *testing.T, s *Store) (*view.View, []byte) {
	t.Helper()
	copied := make([]byte, s.image.Size)
	copyImage(t, s, copied)
	v, err := view.New(bytes.NewReader(copied))
	if err != nil {
		t.Fatal(err)
	}
	return v, copied
}

// copyImage copies the image of a store that no other goroutine uses.
func copyImage(t *testing.T, s *Store, to []byte) {
	t.Helper()
	s.quiesce() // the maintainer would go on with the ages
	defer s.resume()
	if err := s.memory.readAt(to, 0); err != nil { // touches no hole
		t.Fatal(err)
	}
}

// viewed is what a view makes of all pages, in windows of some size: a page, or nil where it is
// corrupt.
func viewed(t *testing.T, v *view.View, size int) [][]byte {
	t.Helper()
	w, all := newWindow(size), make([][]byte, v.Pages())
	for first := uint64(0); first < v.Pages(); first += uint64(size) {
		if err := v.Look(w, first, v.Pages()); err != nil {
			t.Fatal(err)
		}
		fetchTogether(v, w)
		unpack(t, w, all)
	}
	return all
}

// unpack puts the pages of a window to their places: nil where one is corrupt.
func unpack(t *testing.T, w *view.Window, all [][]byte) {
	t.Helper()
	d, err := algorithm(t, "adaptive").NewDecompressor()
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range w.Kind {
		p := make([]byte, PageSize)
		if all[w.Number(i)] = p; kind == view.PageCorrupt {
			all[w.Number(i)] = nil
		}
		if kind == view.PageSame {
			fillWord(p, 0, w.Word[i])
		}
	}
	for o, i := range w.Page {
		if w.Kind[i] != view.PageObject {
			continue
		}
		if err := d.Decompress(all[w.Number(int(i))], w.ID[o], w.Arena[w.Offset[o]:][:w.Length[o]]); err != nil {
			t.Errorf("page %d: %v", w.Number(int(i)), err)
		}
	}
}

// fetchTogether fetches the objects of a window by several goroutines.
func fetchTogether(v *view.View, w *view.Window) {
	objects := make([]uint32, len(w.Page))
	for i := range objects {
		objects[i] = uint32(i)
	}
	var fetching sync.WaitGroup
	for len(objects) > 0 {
		n := min(37, len(objects))
		part := objects[:n]
		fetching.Go(func() { v.Fetch(w, part) })
		objects = objects[n:]
	}
	fetching.Wait()
}

func TestViewShowsWhatIsStored(t *testing.T) {
	s := newStore(t, Config{Disksize: 8 << 20})
	want := make([][]byte, s.Pages())
	for round := range uint32(2) {
		for page := range uint32(s.Pages()) {
			if want[page] = make([]byte, PageSize); page%5 == 4 {
				continue // never written
			}
			want[page] = content{page, round, contentKind(page+round) % contentKinds}.bytes()
			write(t, s, uint64(page), want[page])
		}
	}
	v, _ := stillView(t, s)
	for _, size := range []int{1, 100, 512, 4096} {
		for page, got := range viewed(t, v, size) {
			if !bytes.Equal(got, want[page]) {
				t.Fatalf("windows of %d: page %d is wrong, or called corrupt: %v", size, page, got == nil)
			}
		}
		for page, got := range surveyed(t, v, size) {
			if !bytes.Equal(got, want[page]) {
				t.Fatalf("survey by %d: page %d is wrong, or called corrupt: %v", size, page, got == nil)
			}
		}
	}
	w := newWindow(8)
	if err := v.Look(w, v.Pages()-3, v.Pages()); err != nil || w.Pages != 3 {
		t.Errorf("%v, %d pages at the end", err, w.Pages)
	}
	if err := v.Look(w, v.Pages()+5, v.Pages()); err != nil || w.Pages != 0 {
		t.Errorf("%v, %d pages beyond the end", err, w.Pages)
	}
}

// All damage is found, and nothing else: each bit of an object, of its entry, and of a word.
func TestViewFindsEveryDamagedBit(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	pages := oneOfEach(t, s)
	pages[3] = content{3, 1, tableWord}
	write(t, s, 3, pages[3].bytes())
	v, copied := stillView(t, s)
	w := newWindow(int(s.Pages()))
	check := func(victim uint64, at int64, bit int, what string) {
		copied[at+int64(bit/8)] ^= 1 << (bit % 8)
		defer func() { copied[at+int64(bit/8)] ^= 1 << (bit % 8) }()
		if err := v.Look(w, 0, v.Pages()); err != nil {
			t.Fatal(err)
		}
		fetchTogether(v, w)
		for page, kind := range w.Kind {
			if (kind == view.PageCorrupt) != (uint64(page) == victim) {
				t.Fatalf("page %d, bit %d of %s: page %d is of kind %d", victim, bit, what, page, kind)
			}
		}
		for page, got := range surveyed(t, v, cap(w.Kind)) {
			if (got == nil) != (uint64(page) == victim) {
				t.Fatalf("page %d, bit %d of %s: page %d is corrupt to a survey: %v", victim, bit, what, page, got == nil)
			}
		}
	}
	step := 67 // each wrong page is looked at again some milliseconds later
	if testing.Short() {
		step = 509
	}
	for page := range pages {
		e := s.idx.load(page)
		for bit := 0; bit < 64 && (!e.Object() || bit < image.ValueBits+3); bit++ {
			check(page, s.image.EntryAt(page), bit, "its entry")
		}
		if e.Same() {
			for bit := range 128 {
				check(page, image.SlotAt(e.Value()), bit, "its word")
			}
			continue
		}
		for bit := 0; bit < (image.HeaderSize+e.Length())*8; bit += step {
			if bit/8 != image.HeaderSize-1 {
				check(page, s.image.ObjectAt(e.Where()), bit, "its object")
			}
		}
	}
}

// An object that changes its page's kind between Look and Fetch is found as it is then.
func TestViewFollowsWhatChanges(t *testing.T) {
	for n := range 2 * contentKinds {
		kind, survey := n/2, n%2 == 1
		t.Run(fmt.Sprintf("%d, survey %v", kind, survey), func(t *testing.T) {
			s := newStore(t, Config{Disksize: 1 << 20})
			for page := range uint32(s.Pages()) {
				write(t, s, uint64(page), content{page, 1, compressible}.bytes())
			}
			v, copied := stillView(t, s)
			var err error
			w := newWindow(int(v.Pages()))
			if survey {
				err = v.Survey(0, v.Pages()).Next(w)
			} else {
				err = v.Look(w, 0, v.Pages())
			}
			if err != nil || w.Pages != int(v.Pages()) {
				t.Fatalf("%v, %d pages", err, w.Pages)
			}
			for page := range uint32(s.Pages()) {
				write(t, s, uint64(page), content{page, 2, kind}.bytes())
			}
			copyImage(t, s, copied)
			fetchTogether(v, w)
			fetchTogether(v, w) // once more is the same
			all := make([][]byte, v.Pages())
			unpack(t, w, all)
			for page, got := range all {
				if !bytes.Equal(got, content{uint32(page), 2, kind}.bytes()) {
					t.Fatalf("page %d, of kind %d now, is wrong, or called corrupt: %v", page, w.Kind[page], got == nil)
				}
			}
		})
	}
}

func TestViewRefusesWhatIsNoImage(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	_, copied := stillView(t, s)
	for name, c := range map[string]struct {
		change func() []byte
		want   error
	}{
		"nothing":        {func() []byte { return nil }, ErrMagic},
		"another file":   {func() []byte { return make([]byte, 2*PageSize) }, ErrMagic},
		"damaged":        {func() []byte { p := bytes.Clone(copied); p[40] ^= 1; return p }, ErrChecksum},
		"another format": {func() []byte { p := bytes.Clone(copied); binary.LittleEndian.PutUint32(p[8:], 9); return p }, ErrVersion},
	} {
		if _, err := view.New(bytes.NewReader(c.change())); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// proved must say what the store says: the layout of a header is told twice.
func TestViewProvesAsTheStoreDoes(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	for page := range oneOfEach(t, s) {
		e := s.idx.load(page)
		p := s.image.Mem[s.image.ObjectAt(e.Where()):][:image.Footprint(e.Length())]
		if !image.Proves(p, page, e) || image.Proves(p, page+1, e) {
			t.Errorf("page %d is not proved, or is another's", page)
		}
		if codec.ID(p[10]) != s.image.HeaderAt(e.Where()).Codec {
			t.Errorf("page %d: the codec lies elsewhere", page)
		}
	}
}
