// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/view"
)

// A moving image is one of several from some read on, as if everything had changed between two
// reads.
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

// An object that was written to the place of another, and never published, is no page's, even if it
// would fit. To a survey, which keeps no bytes, it is right.
func TestViewShowsWhatWasPublished(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	write(t, s, 0, content{0, 1, random}.bytes())
	old := s.idx.load(0)
	_, before := stillView(t, s)
	want := content{0, 2, random}.bytes()
	write(t, s, 0, want)
	_, after := stillView(t, s)
	object := after[s.image.ObjectAt(old.Where()):][:image.Footprint(old.Length())]
	copy(object, before[s.image.ObjectAt(old.Where()):])
	object[image.HeaderSize] ^= 1
	binary.LittleEndian.PutUint32(object, image.Seal(0, old.Codec(), object[image.HeaderSize:][:old.Length()]))

	m := &moving{images: [][]byte{before, after}}
	m.until = []int{1 << 30}
	v, err := view.New(m)
	if err != nil {
		t.Fatal(err)
	}
	looked, found := newWindow(1), newWindow(1)
	if err := errors.Join(v.Look(looked, 0, 1), v.Survey(0, 1).Next(found)); err != nil || !image.Proves(object, 0, old) {
		t.Fatal(err)
	}
	m.until[0] = 0
	all := make([][]byte, 1)
	v.Fetch(looked, []uint32{0})
	if unpack(t, looked, all); !bytes.Equal(all[0], want) {
		t.Errorf("it is not what was published, or called corrupt: %v", all[0] == nil)
	}
	if v.Fetch(found, []uint32{0}); found.Kind[0] != view.PageObject {
		t.Errorf("to a survey the page is of kind %d", found.Kind[0])
	}
}

// Whenever the image changes, and changes again, between any two reads of a view, no page is
// corrupt, and each is as it was in one of them.
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
		_, copied := stillView(t, s)
		images = append(images, copied)
	}
	for name, look := range map[string]func(*view.View) [][]byte{
		"look":   func(v *view.View) [][]byte { return viewed(t, v, int(v.Pages()))[:pages] },
		"survey": func(v *view.View) [][]byte { return surveyed(t, v, int(v.Pages()))[:pages] },
	} {
		for first := range 60 { // more reads than there are for these pages
			for second := first; second < 60; second++ {
				m := &moving{images: images}
				v, err := view.New(m)
				if err != nil {
					t.Fatal(err)
				}
				m.reads, m.until = 0, []int{first, second}
				for page, got := range look(v) {
					if !slices.ContainsFunc(want[page][:], func(p []byte) bool { return bytes.Equal(p, got) }) {
						t.Fatalf("%s, changes before reads %d and %d: page %d is wrong, or called corrupt: %v", name, first, second, page, got == nil)
					}
				}
			}
		}
	}
}
