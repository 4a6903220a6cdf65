// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Words that an entry cannot hold share the slots of a set: each has one slot, which is free for
// another once its last page is gone. A damaged slot that pages refer to goes to no other word.
func TestSameFilledSlots(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	s.quiesce()
	defer s.resume()
	table := &s.same
	set := func(word uint64) uint64 { return word * 0x9E3779B97F4A7C15 >> 56 }
	var words []uint64 // of one set, one more than it has slots
	for word := uint64(0x0123456789abcdef); len(words) <= image.SameWays; word += 0x1000000001 {
		if len(words) == 0 || set(word) == set(words[0]) {
			words = append(words, word)
		}
	}
	last := words[image.SameWays]
	refer := func(word uint64, want bool) image.Entry {
		t.Helper()
		e, ok := table.ref(word)
		if ok != want {
			t.Fatalf("word %#x gets a slot: %v", word, ok)
		}
		if got, intact := table.word(e); ok && (!intact || got != word) {
			t.Errorf("the slot of %#x holds %#x, intact %v", word, got, intact)
		}
		return e
	}
	var entries []image.Entry
	for i, word := range words[:image.SameWays] {
		e := refer(word, true)
		for before, other := range entries {
			if other == e {
				t.Errorf("words %d and %d have one slot", before, i)
			}
		}
		entries = append(entries, e)
	}
	for i, word := range words[:image.SameWays] {
		if e := refer(word, true); e != entries[i] || table.refs[e.Value()] != 2 {
			t.Errorf("word %d has another slot for its second page, or %d references", i, table.refs[e.Value()])
		}
	}
	refer(last, false)
	// Half of a slot holds another word: neither that word nor the slot's own gets it.
	at := 2 * entries[1].Value()
	table.words[at].Store(last)
	refer(last, false)
	refer(words[1], false)
	table.words[at].Store(words[1])
	table.unref(entries[0])
	refer(last, false)
	table.unref(entries[0])
	if e := refer(last, true); e != entries[0] {
		t.Error("the slot that became free was not taken")
	}
	table.unref(entries[0])
	for _, e := range entries[1:] {
		table.unref(e)
		table.unref(e)
	}
	for slot, refs := range table.refs {
		if refs != 0 || table.words[2*slot].Load() != 0 || table.words[2*slot+1].Load() != 0 {
			t.Errorf("slot %d is not free and clear", slot)
		}
	}
}
