// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Check must find each invariant broken: here every one is, one at a time, and
// mended again.
func TestCheckFindsEachViolation(t *testing.T) {
	s := newStore(t, Config{Disksize: 8 << 20})
	for page := range uint32(s.Pages()) {
		write(t, s, uint64(page), content{page, 1, contentKind(page) % contentKinds}.bytes())
	}
	w := s.Acquire()
	w.Discard(0, 50)
	w.Release()
	object, table := findEntry(t, s, image.Entry.Object), findEntry(t, s, func(e image.Entry) bool { return e.Codec() == image.SameSlot })
	e := s.idx.load(object)
	flipWord := func(page uint64, change image.Entry) func() {
		return func() { s.idx.entries[page].Store(uint64(s.idx.load(page) ^ change)) }
	}
	flipByte := func(off int64) func() { return func() { s.image.Mem[off] ^= 0x40 } }
	where := s.image.ObjectAt(e.Where())
	for _, c := range []struct {
		rule  int
		name  string
		spoil func() // twice is not at all
	}{
		{1, "superblock", flipByte(24)},
		{2, "codec of an entry", flipWord(object, image.Entry(e.Codec())<<image.ValueBits)},
		{3, "payload", flipByte(where + image.HeaderSize)},
		{3, "page in the header", flipByte(where + 4)},
		{3, "place of an object", flipWord(object, 1)},
		{5, "live bytes", func() { s.segment(e.Segment()).word.Store(s.segment(e.Segment()).word.Load() ^ 8<<stateBits) }},
		{6, "freed space", flipByte(s.image.ObjectAt(deadObject(t, s)) + image.HeaderSize)},
		{6, "ready segment", func() { s.image.SegmentBytes(uint64(s.ready[0]))[77] ^= 1 }},
		{7, "state", func() {
			s.segment(uint64(s.ready[0])).word.Store(s.segment(uint64(s.ready[0])).word.Load() ^ segReady ^ segEmpty)
		}},
		{7, "memory", func() { s.charged.Store(s.charged.Load() ^ 1) }},
		{8, "references", func() { s.same.refs[s.idx.load(table).Value()] ^= 1 }},
		{9, "counter", func() { s.base.pages[3].Store(s.base.pages[3].Load() ^ 1) }},
	} {
		spoil := func() {
			s.passMu.Lock() // the maintainer makes segments ready
			defer s.passMu.Unlock()
			c.spoil()
		}
		spoil()
		var found []string
		s.Check(func(err error) { found = append(found, err.Error()) })
		spoil()
		if !strings.Contains(strings.Join(found, "\n"), fmt.Sprintf("invariant %d:", c.rule)) {
			t.Errorf("%s spoiled: want invariant %d broken, got %q", c.name, c.rule, found)
		}
	}
}

func findEntry(t *testing.T, s *Store, ok func(image.Entry) bool) uint64 {
	t.Helper()
	for page := range s.Pages() {
		if ok(s.idx.load(page)) {
			return page
		}
	}
	t.Fatal("no such entry")
	return 0
}

// deadObject finds a freed object in a segment in use.
func deadObject(t *testing.T, s *Store) uint64 {
	t.Helper()
	for n := range s.fresh {
		if state := s.segment(n).state(); state != segOpen && state != segSealed {
			continue
		}
		for where := range s.objects(n) {
			if !s.named(where, s.image.HeaderAt(where)) {
				return where
			}
		}
	}
	t.Fatal("no freed object")
	return 0
}
