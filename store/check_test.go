// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// Check must find each invariant broken: here every one is, one at a time, and
// mended again.
func TestCheckFindsEachViolation(t *testing.T) {
	s := newStore(t, Config{Disksize: populateUpTo + 8<<20, MaxMemory: 64 << 20, Backing: newBacking(t, 100)})
	for page := range uint32(2048) {
		write(t, s, uint64(page), content{page, 1, contentKind(page) % contentKinds}.bytes())
	}
	discard(s, 0, 50)
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{First: 100, End: 140}}})
	defer s.unmaintained()()
	away := func(e image.Entry) bool { return e.WrittenBack() }
	object := findEntry(t, s, func(e image.Entry) bool { return e.Object() && !away(e) && e.Codec() != codec.Raw })
	table := findEntry(t, s, func(e image.Entry) bool { return e.Codec() == image.SameSlot })
	stub := findEntry(t, s, away)
	e, st := s.idx.load(object), s.idx.load(stub)
	flipWord := func(page uint64, change image.Entry) func() {
		return func() { s.idx.entries[page].Store(uint64(s.idx.load(page) ^ change)) }
	}
	flipByte := func(off int64) func() { return func() { s.image.Mem[off] ^= 0x40 } }
	flip := func(word *atomic.Uint64, bits uint64) func() { return func() { word.Store(word.Load() ^ bits) } }
	flipCount := func(count *atomic.Int64) func() { return func() { count.Store(count.Load() ^ 8) } }
	// sealed flips a byte of an object that has the right checksum before and after.
	sealed := func(e image.Entry, at int, bits byte) func() {
		return func() {
			s.image.Payload(e.Where(), e.Length())[at] ^= bits
			s.image.HeaderAt(e.Where()).Checksum = s.image.Checksum(e.Where(), e.Length())
		}
	}
	where := s.image.ObjectAt(e.Where())
	larger := image.NewSuperblock(s.Disksize()+PageSize, s.image.Segments, true)
	was, is := larger.Encode(), bytes.Clone(s.image.Mem[:len(larger.Encode())])
	first := s.segment(uint64(s.ready[0]))
	named, _ := image.DecodeStub(s.image.Payload(st.Where(), st.Length()))
	for _, c := range []struct {
		rule  int
		says  string
		spoil func() // twice is not at all
	}{
		{1, "superblock: superblock checksum mismatch", flipByte(24)},
		{1, "geometry differs", func() {
			for i := range was {
				s.image.Mem[i] ^= was[i] ^ is[i]
			}
		}},
		{2, "impossible entry", flipWord(object, image.Entry(e.Codec())<<image.ValueBits)},
		{2, "a twin 0x", flip(&s.idx.twins[0][len(s.idx.bitmap)-1], 1)},
		{2, "index pages present", flipCount(&s.idx.present)},
		{3, "checksum mismatch", flipByte(where + image.HeaderSize)},
		{3, "checksum mismatch", flipByte(where + 4)},
		{3, "checksum mismatch", flipWord(object, 1)},
		{3, "corrupt", sealed(e, 0, 0xFF)},
		{4, "holds objects in state", flip(&s.segment(e.Segment()).word, segSealed^segMoving)},
		{4, "live objects, the index names", func() { s.image.HeaderAt(e.Where()).Length ^= 1 << 15 }},
		{5, "tails of", flipCount(&s.tails)},
		{5, "live bytes, the index", flip(&s.segment(e.Segment()).word, 8<<stateBits)},
		{6, "is not clear", flipByte(s.image.ObjectAt(deadObject(t, s)) + image.HeaderSize)},
		{6, "is ready and not clear", func() { s.image.SegmentBytes(uint64(s.ready[0]))[77] ^= 1 }},
		{6, "unused tail is not clear", flipByte(s.image.ObjectAt(s.writtenBack.batch.open.end) - 1)},
		{7, "in the list of state", flip(&first.word, segReady^segEmpty)},
		{7, "is listed 2 times", func() {
			if last := len(s.ready) - 1; s.ready[last] == s.ready[0] {
				s.ready = s.ready[:last]
			} else {
				s.ready = append(s.ready, s.ready[0])
			}
		}},
		{7, "something appends to it: false", flip(&s.segment(e.Segment()).word, segSealed^segOpen)},
		{7, "something appends to it: true", flip(&s.segment(s.writtenBack.batch.open.end/image.SegmentSize-1).word, segSealed^segOpen)},
		{7, "segments have memory", flipCount(&s.idx.present)},
		{7, "the image takes", flipCount(&s.charged)},
		{8, "references, counted are", func() { s.same.refs[s.idx.load(table).Value()] ^= 1 }},
		{9, "pages are written back, counted are", flipCount(&s.base.pages[image.WrittenBack])},
		{9, "found", flipCount(&s.base.pages[codec.Raw])},
		{9, "found", flipCount(&s.base.bytes[codec.Raw])},
		{9, "objects take", flipCount(&s.base.footprint)},
		{10, "impossible stub", sealed(st, 27, 0x80)},
		{10, "belongs to pages", sealed(st, 24, byte(named.Block)^byte(named.Block^1))},
		{10, "and is free", func() { s.writtenBack.blocks.taken[named.Block/64] ^= 1 << (named.Block % 64) }},
		{10, "stubs name", func() { s.writtenBack.blocks.used ^= 1 << 20 }},
	} {
		if raceEnabled && c.says == "the image takes" {
			continue // Go's memory does not tell
		}
		c.spoil()
		var found []string
		s.Check(func(err error) { found = append(found, err.Error()) })
		c.spoil()
		broken := func(report string) bool {
			return strings.HasPrefix(report, fmt.Sprintf("invariant %d:", c.rule)) && strings.Contains(report, c.says)
		}
		if !slices.ContainsFunc(found, broken) {
			t.Errorf("want invariant %d broken, %q, got %q", c.rule, c.says, found)
		}
	}
}

// unmaintained ends the maintainer until the function that it returns is called.
func (s *Store) unmaintained() (end func()) {
	close(s.stop)
	<-s.stopped
	s.stop, s.stopped = make(chan struct{}), make(chan struct{})
	return func() { go s.maintain() }
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
