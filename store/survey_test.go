// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/view"
)

// surveyed is what a survey makes of all pages, in windows of some size: a page, or nil where it is
// corrupt. Pages that it passes by are zeros. No page may come twice.
func surveyed(t *testing.T, v *view.View, size int) [][]byte {
	t.Helper()
	w, all, s := newWindow(size), make([][]byte, v.Pages()), v.Survey(0, v.Pages())
	seen := make([]bool, v.Pages())
	for {
		if err := s.Next(w); err != nil {
			t.Fatal(err)
		}
		if w.Pages == 0 {
			break
		}
		for i := range w.Pages {
			if seen[w.Number(i)] {
				t.Fatalf("page %d comes twice", w.Number(i))
			}
			seen[w.Number(i)] = true
		}
		fetchTogether(v, w)
		unpack(t, w, all)
	}
	for page, was := range seen {
		if !was {
			all[page] = make([]byte, PageSize)
		}
	}
	return all
}

// A counted image counts how often it is read. Safe for concurrent use.
type counted struct {
	io.ReaderAt
	reads atomic.Int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.reads.Add(1)
	return c.ReaderAt.ReadAt(p, off)
}

// atRandom is a store all of whose pages were written once, at random.
func atRandom(tb testing.TB, size uint64, kind contentKind) *Store {
	tb.Helper()
	s := mustCreate(tb, Config{Disksize: size})
	for _, page := range rand.New(rand.NewPCG(3, 3)).Perm(int(s.Pages())) {
		write(tb, s, uint64(page), content{uint32(page), 1, kind}.bytes())
	}
	return s
}

// countedView views a copy of a store that is at rest.
func countedView(t *testing.T, s *Store) (*view.View, *counted, []byte) {
	t.Helper()
	_, copied := stillView(t, s)
	c := &counted{ReaderAt: bytes.NewReader(copied)}
	v, err := view.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v, c, copied
}

// Pages that were written at random are read in few pieces, in the order in which they lie, and all
// of them.
func TestSurveyReadsManyObjectsAtOnce(t *testing.T) {
	s := atRandom(t, 8<<20, compressible)
	defer finish(t, s)
	v, c, _ := countedView(t, s)
	w, survey, pages := newWindow(1000), v.Survey(0, v.Pages()), 0
	for {
		if err := survey.Next(w); err != nil {
			t.Fatal(err)
		}
		if w.Pages == 0 {
			break
		}
		pages += w.Pages
		objects := make([]uint32, len(w.Page))
		for i := range objects {
			objects[i] = uint32(i)
		}
		v.Fetch(w, objects)
		if i := slices.Index(w.Kind, view.PageCorrupt); i >= 0 {
			t.Fatalf("page %d is corrupt", w.Number(i))
		}
	}
	if n := c.reads.Load(); pages != int(v.Pages()) || n > s.image.Size/image.SegmentSize+20 {
		t.Errorf("%d of %d pages, by %d reads", pages, v.Pages(), n)
	}
}

// Of a run in which some objects have changed only those are fetched again, wherever there is room
// for them, and the others stay what they are.
func TestViewMendsWhatHasChanged(t *testing.T) {
	for _, c := range []struct {
		even, odd contentKind
		changed   int
		most      int64 // reads
	}{
		{compressible, compressible, 0, 10}, {compressible, compressible, 1, 14}, {compressible, compressible, 5, 60}, {compressible, compressible, 256, 1024},
		{compressible, random, 1, 14}, {compressible, random, 70, 1024}, {compressible, random, 80, 1024}, {compressible, random, 90, 1024},
		{compressible, random, 100, 1024}, {compressible, random, 120, 1024}, {random, random, 1, 1024}, {random, random, 256, 1024},
	} {
		s := newStore(t, Config{Disksize: 1 << 20})
		version := make([]uint32, s.Pages())
		now := func(page int) []byte {
			return content{uint32(page), version[page], []contentKind{c.even, c.odd}[page%2]}.bytes()
		}
		for page := range version {
			write(t, s, uint64(page), now(page))
		}
		v, counter, copied := countedView(t, s)
		for _, look := range []func(w *view.Window) error{
			func(w *view.Window) error { return v.Look(w, 0, v.Pages()) },
			func(w *view.Window) error { return v.Survey(0, v.Pages()).Next(w) },
		} {
			w := newWindow(int(v.Pages()))
			if err := look(w); err != nil || len(w.Page) != int(v.Pages()) {
				t.Fatalf("%v, %d objects", err, len(w.Page))
			}
			for _, page := range rand.New(rand.NewPCG(4, 4)).Perm(len(version))[:c.changed] {
				version[page]++
				write(t, s, uint64(page), now(page))
			}
			copyImage(t, s, copied)
			counter.reads.Store(0)
			v.Fetch(w, slices.Clone(w.Page))
			if n := counter.reads.Load(); n > c.most {
				t.Errorf("%d of kinds %d and %d have changed: %d reads", c.changed, c.even, c.odd, n)
			}
			all := make([][]byte, v.Pages())
			unpack(t, w, all)
			for page, got := range all {
				if !bytes.Equal(got, now(page)) {
					t.Fatalf("%d of kinds %d and %d have changed: page %d is wrong, or called corrupt: %v", c.changed, c.even, c.odd, page, got == nil)
				}
			}
		}
	}
}

// Objects may be fetched in any groups.
func TestViewFetchesInAnyGroups(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	for page := range uint32(s.Pages()) {
		write(t, s, uint64(page), content{page, 1, compressible}.bytes())
	}
	v, _ := stillView(t, s)
	for name, look := range map[string]func(*view.Window) error{
		"look":   func(w *view.Window) error { return v.Look(w, 0, v.Pages()) },
		"survey": func(w *view.Window) error { return v.Survey(0, v.Pages()).Next(w) },
	} {
		w := newWindow(int(v.Pages()))
		if err := look(w); err != nil {
			t.Fatal(err)
		}
		groups := make([][]uint32, 3)
		for o := range w.Page {
			groups[o%3] = append(groups[o%3], uint32(o))
		}
		for _, group := range groups {
			v.Fetch(w, group)
		}
		all := make([][]byte, v.Pages())
		unpack(t, w, all)
		for page, got := range all {
			if !bytes.Equal(got, content{uint32(page), 1, compressible}.bytes()) {
				t.Fatalf("%s: page %d is wrong, or called corrupt: %v", name, page, got == nil)
			}
		}
	}
}

// A survey of a part shows that part, and one of nothing ends.
func TestSurveyOfAPart(t *testing.T) {
	s := atRandom(t, 4<<20, compressible)
	defer finish(t, s)
	v, _ := stillView(t, s)
	for _, c := range [][3]uint64{{0, 1024, 1024}, {0, 1 << 40, 1024}, {700, 701, 1}, {100, 900, 800}, {5, 5, 0}, {9, 3, 0}, {1024, 2000, 0}} {
		survey, w, n := v.Survey(c[0], c[1]), newWindow(100), uint64(0)
		for {
			if err := survey.Next(w); err != nil {
				t.Fatal(err)
			}
			if w.Pages == 0 {
				break
			}
			for i := range w.Pages {
				if page := w.Number(i); page < c[0] || page >= c[1] {
					t.Errorf("%d is none of %d to before %d", page, c[0], c[1])
				}
			}
			n += uint64(w.Pages)
		}
		if n != c[2] {
			t.Errorf("%d to before %d: %d pages, want %d", c[0], c[1], n, c[2])
		}
	}
}
