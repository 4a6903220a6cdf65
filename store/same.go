// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// sameTable holds the words of same-filled pages that do not fit into an
// entry, each next to its complement, as a checksum, in sets of image.SameWays
// slots; a word can lie in the slots of one set. The table is bounded: a page whose
// word finds no slot is compressed like any other. A slot is reused only after a
// grace period, as an object's space is. A View knows no grace periods: the renewals
// of a set tell it that one of its slots may have been reused.
type sameTable struct {
	words    []atomic.Uint64         // immutable view of the image: slot n at 2n, 2n+1
	renewals []atomic.Uint64         // immutable view of the image: raised before a slot of the set gets a word
	_        apart                   // readers need the former, writers the rest
	mu       sync.Mutex              // serialises ref and unref
	refs     [image.SameWords]uint32 // entries that name the slot; guarded by mu
}

// ref returns an entry for word with a reference counted, or false when its
// set has no slot left. A damaged slot that others refer to is left alone, even where it seems to
// hold word: with word and its complement it would be intact, and the others' pages wrong.
func (t *sameTable) ref(word uint64) (image.Entry, bool) {
	if e, ok := image.WordEntry(word); ok {
		return e, true
	}
	set := word * 0x9E3779B97F4A7C15 >> 56 * image.SameWays
	t.mu.Lock()
	defer t.mu.Unlock()
	spare := uint64(image.SameWords)
	for slot := set; slot < set+image.SameWays; slot++ {
		if t.refs[slot] == 0 {
			spare = slot
		} else if t.words[2*slot].Load() == word && t.words[2*slot+1].Load() == ^word {
			spare = slot
			break
		}
	}
	if spare == image.SameWords || t.refs[spare] == math.MaxUint32 {
		return 0, false
	}
	if t.refs[spare] == 0 {
		t.renewals[set/image.SameWays].Add(1)
	}
	t.words[2*spare].Store(word)
	invariant.Point("word without complement")
	t.words[2*spare+1].Store(^word)
	t.refs[spare]++
	invariant.Point("word referenced")
	return image.SameEntry(image.SameSlot, spare), true
}

// unref drops the reference of a table entry that is out of reach.
func (t *sameTable) unref(e image.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refs[e.Value()]--; t.refs[e.Value()] == 0 {
		invariant.Point("word to be cleared")
		t.words[2*e.Value()].Store(0)
		invariant.Point("word half cleared")
		t.words[2*e.Value()+1].Store(0)
	}
}

// word is what a valid same-filled entry stands for, if that is intact.
func (t *sameTable) word(e image.Entry) (word uint64, ok bool) {
	if e.Codec() != image.SameSlot {
		return e.Word(), true
	}
	word = t.words[2*e.Value()].Load()
	return word, t.words[2*e.Value()+1].Load() == ^word
}
