// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/store/view"
)

// wordsOfASet are words that lie in the same set of the same-filled table.
func wordsOfASet(n int) (words []uint64) {
	for word := uint64(1)<<63 | 1; len(words) < n; word += 2 {
		if word*0x9E3779B97F4A7C15>>56 == 7 {
			words = append(words, word)
		}
	}
	return words
}

// The entry of a page is the same whenever its word has the same slot, and between two looks at it
// the slot may have been another page's. Even so a view finds one of the page's own words.
func TestViewOfAWordWhoseSlotWasAnothers(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	words := wordsOfASet(3)
	filled := func(word uint64) []byte {
		return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, word), PageSize/8)
	}
	var images [][]byte
	keep := func() {
		_, copied := stillView(t, s)
		images = append(images, copied)
	}
	write(t, s, 0, filled(words[0]))
	e := s.idx.load(0)
	keep()
	write(t, s, 0, filled(5))
	write(t, s, 1, filled(words[1]))
	if other := s.idx.load(1); other != e {
		t.Fatalf("the other word has entry %#x, want %#x", other, e)
	}
	keep()
	write(t, s, 1, filled(5))
	write(t, s, 0, filled(words[2]))
	if again := s.idx.load(0); again != e {
		t.Fatalf("the page has entry %#x, want %#x again", again, e)
	}
	keep()
	own := [][]byte{filled(words[0]), filled(5), filled(words[2])}
	for name, look := range map[string]func(*view.View) [][]byte{
		"look":   func(v *view.View) [][]byte { return viewed(t, v, int(v.Pages())) },
		"survey": func(v *view.View) [][]byte { return surveyed(t, v, int(v.Pages())) },
	} {
		for first := range 40 { // more reads than there are for these pages
			for second := first; second < 40; second++ {
				m := &moving{images: images}
				v, err := view.New(m)
				if err != nil {
					t.Fatal(err)
				}
				m.reads, m.until = 0, []int{first, second}
				if got := look(v)[0]; !slices.ContainsFunc(own, func(p []byte) bool { return bytes.Equal(p, got) }) {
					t.Errorf("%s, changes before reads %d and %d: the page is wrong, or called corrupt: %v", name, first, second, got == nil)
				}
			}
		}
	}
}
