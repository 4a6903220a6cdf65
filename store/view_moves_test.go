// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"
)

// A moving image is one of several from some read on, as if everything had changed between two reads.
type moving struct {
	images [][]byte
	until  []int // reads, of each image but the last
	reads  int
}

func (m *moving) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(m.until) && m.reads >= m.until[n] {
		n++
	}
	m.reads++
	return copy(p, m.images[n][off:]), nil
}

// Whenever the image changes, and changes again, between any two reads of a view, no page is corrupt, and each is as it was in one of them.
func TestViewBetweenAnyTwoReads(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	const pages, versions = 4, 3
	kinds := [pages][versions]contentKind{
		{random, compressible, barelyCompressible}, {compressible, compressible, tableWord}, {tableWord, tableWord, random}, {smallWord, random, tableWord},
	}
	var want [pages][versions][]byte
	var images [][]byte
	for version := range versions {
		for page := range pages {
			want[page][version] = content{uint32(page), uint32(version), kinds[page][version]}.bytes()
			write(t, s, uint64(page), want[page][version])
		}
		_, image := stillView(t, s)
		images = append(images, image)
	}
	d, err := algorithm(t, "adaptive").NewDecompressor()
	if err != nil {
		t.Fatal(err)
	}
	for first := range 40 { // more reads than there are
		for second := first; second < 40; second++ {
			m := &moving{images: images}
			v, err := newView(m)
			if err != nil {
				t.Fatal(err)
			}
			m.reads, m.until = 0, []int{first, second}
			w := NewWindow(pages)
			if err := v.Look(w, 0, pages); err != nil {
				t.Fatal(err)
			}
			objects := []uint32{0, 1, 2, 3}[:len(w.Page)]
			v.Fetch(w, objects)
			got := make([][]byte, pages)
			for i := range got {
				got[i] = make([]byte, PageSize)
				fillWord(got[i], 0, w.Word[i])
			}
			for o, i := range w.Page {
				if w.Kind[i] == PageObject {
					if err := d.Decompress(got[i], w.ID[o], w.Arena[w.Offset[o]:][:w.Length[o]]); err != nil {
						t.Error(err)
					}
				}
			}
			for i, kind := range w.Kind {
				right := bytes.Equal(got[i], want[i][0]) || bytes.Equal(got[i], want[i][1]) || bytes.Equal(got[i], want[i][2])
				if kind == PageCorrupt || !right {
					t.Fatalf("changes before reads %d and %d: page %d is of kind %d, and right: %v", first, second, i, kind, right)
				}
			}
		}
	}
}
