// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// oneOfEach writes a page of each kind that owns an object and returns the
// entries.
func oneOfEach(t *testing.T, s *Store) map[uint64]content {
	t.Helper()
	pages := map[uint64]content{}
	for i, kind := range []contentKind{compressible, barelyCompressible, random} {
		page := uint64(i * 7)
		pages[page] = content{uint32(page), 1, kind}
		write(t, s, page, pages[page].bytes())
	}
	return pages
}

// mustBeCorrupt reads a page that must be refused, and be counted and told.
func mustBeCorrupt(t *testing.T, s *Store, told *atomic.Uint64, page uint64, what string) {
	t.Helper()
	w := s.Acquire()
	defer w.Release()
	before := s.Stats()
	told.Store(^uint64(0))
	p := make([]byte, PageSize)
	if err := w.Read(page, 0, p); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("page %d, %s: %v, want ErrCorrupt", page, what, err)
	}
	after := s.Stats()
	if after.FailedReads.Count != before.FailedReads.Count+1 || after.ChecksumErrors.Count != before.ChecksumErrors.Count+1 || told.Load() != page {
		t.Fatalf("page %d, %s: failed reads %d to %d, checksum errors %d to %d, told of page %d", page, what,
			before.FailedReads.Count, after.FailedReads.Count, before.ChecksumErrors.Count, after.ChecksumErrors.Count, told.Load())
	}
}

// Every bit of a stored object, header and payload, matters.
func TestF009EverySingleBitFlipIsDetected(t *testing.T) {
	var told atomic.Uint64
	s := newStore(t, Config{Disksize: 1 << 20, OnCorrupt: func(p uint64) { told.Store(p) }})
	for page, c := range oneOfEach(t, s) {
		e := s.idx.load(page)
		object := s.image.Mem[s.image.ObjectAt(e.Where()):][:image.HeaderSize+e.Length()]
		for bit := range len(object) * 8 {
			if bit/8 == image.HeaderSize-1 { // the header's last byte is not used
				continue
			}
			object[bit/8] ^= 1 << (bit % 8)
			mustBeCorrupt(t, s, &told, page, "bit flipped")
			object[bit/8] ^= 1 << (bit % 8)
		}
		if !bytes.Equal(read(t, s, page), c.bytes()) {
			t.Fatalf("page %d: wrong after its bits were put back", page)
		}
	}
}

// An entry that claims less than was stored, more, another codec or another
// place, is refused: an object is good for one entry only.
func TestF010EveryTruncationIsDetected(t *testing.T) {
	var told atomic.Uint64
	s := newStore(t, Config{Disksize: 1 << 20, OnCorrupt: func(p uint64) { told.Store(p) }})
	pages := oneOfEach(t, s)
	for page := range pages {
		e := s.idx.load(page)
		for length := 1; length <= PageSize; length++ {
			if length != e.Length() {
				s.idx.entries[page].Store(uint64(image.ObjectEntry(e.Where(), e.Codec(), length)))
				mustBeCorrupt(t, s, &told, page, "length changed")
			}
		}
		for bit := image.ValueBits; 1<<bit <= (image.Codecs-1)<<image.ValueBits; bit++ {
			if bad := e ^ 1<<bit; !bad.Same() && bad.Valid(s.image.Segments) && bad != e {
				s.idx.entries[page].Store(uint64(bad))
				mustBeCorrupt(t, s, &told, page, "codec changed")
			}
		}
		for other := range pages {
			if other != page {
				s.idx.entries[page].Store(uint64(s.idx.load(other)))
				mustBeCorrupt(t, s, &told, page, "points at another page's object")
			}
		}
		s.idx.entries[page].Store(uint64(e.At(s.image.Segments * image.SegmentSize)))
		mustBeCorrupt(t, s, &told, page, "points outside the image")
		s.idx.entries[page].Store(uint64(e))
	}
}

// Every bit of an index entry matters: flipped, the page is refused, and what is
// written over it is good and damages no other. Only the bits that say nothing
// yet, position and age of an object, change nothing.
func TestF009EverySingleBitFlipOfAnEntryIsDetected(t *testing.T) {
	for kind := range contentKinds {
		var told atomic.Uint64
		s := mustCreate(t, Config{Disksize: 4 << 20, OnCorrupt: func(p uint64) { told.Store(p) }})
		for page := range uint32(s.Pages()) {
			write(t, s, uint64(page), content{page, 1, contentKind(page) % contentKinds}.bytes())
		}
		const victim = 700 // of an object that has neighbours on both sides
		c := content{victim, 2, kind}
		for bit := range 64 {
			write(t, s, victim, c.bytes())
			e := s.idx.load(victim)
			if e.Object() && bit >= image.ValueBits+3 {
				continue
			}
			s.idx.entries[victim].Store(uint64(e ^ 1<<bit))
			mustBeCorrupt(t, s, &told, victim, fmt.Sprintf("kind %d, bit %d of the entry flipped", kind, bit))
		}
		write(t, s, victim, c.bytes())
		for page := range uint32(s.Pages()) {
			want := content{page, 1, contentKind(page) % contentKinds}
			if page == victim {
				want = c
			}
			if !bytes.Equal(read(t, s, uint64(page)), want.bytes()) {
				t.Fatalf("kind %d: page %d is wrong", kind, page)
			}
		}
		s.die() // the space of the damaged objects is lost, so Check would complain
	}
}

// A word of the same-filled table that changed is noticed.
func TestF009EverySingleBitFlipOfAWordIsDetected(t *testing.T) {
	var told atomic.Uint64
	s := newStore(t, Config{Disksize: 1 << 20, OnCorrupt: func(p uint64) { told.Store(p) }})
	write(t, s, 3, content{3, 1, tableWord}.bytes())
	slot := s.idx.load(3).Value()
	for bit := range 128 {
		word := &s.same.words[2*slot+uint64(bit/64)]
		word.Store(word.Load() ^ 1<<(bit%64))
		mustBeCorrupt(t, s, &told, 3, "bit of its word flipped")
		word.Store(word.Load() ^ 1<<(bit%64))
	}
}

// Random damage to what is stored never gives wrong data, and never a panic.
func TestRandomDamage(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	rng := rand.New(rand.NewPCG(3, 3))
	c := content{5, 1, compressible}
	write(t, s, 5, c.bytes())
	e := s.idx.load(5)
	object := s.image.Mem[s.image.ObjectAt(e.Where()):][:image.HeaderSize+e.Length()]
	good := bytes.Clone(object)
	w := s.Acquire()
	defer w.Release()
	p := make([]byte, PageSize)
	for range 20_000 {
		for range 1 + rng.IntN(8) {
			object[rng.IntN(len(object)-1)] = byte(rng.Uint32())
		}
		object[image.HeaderSize-1] = 0
		if err := w.Read(5, 0, p); err == nil && !bytes.Equal(p, c.bytes()) {
			t.Fatal("damaged page read as something else without an error")
		}
		copy(object, good)
	}
}

// A partial write cannot be built on a page that cannot be read.
func TestPartialWriteOfCorruptPage(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	c := content{5, 1, compressible}
	write(t, s, 5, c.bytes())
	damage := &s.image.Mem[s.image.ObjectAt(s.idx.load(5).Where())+image.HeaderSize]
	*damage ^= 1
	w := s.Acquire()
	err := w.Write(5, 10, []byte("part"))
	w.Release()
	if !errors.Is(err, ErrCorrupt) {
		t.Fatalf("partial write: %v, want ErrCorrupt", err)
	}
	*damage ^= 1
	if !bytes.Equal(read(t, s, 5), c.bytes()) {
		t.Fatal("the page changed")
	}
	write(t, s, 5, content{5, 2, random}.bytes()) // a whole page needs nothing of the old one
}

// A read that meets a mismatch without a lock looks again under the page's
// lock: here the object is whole again by then.
func TestReadLooksAgainUnderTheLock(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	c := content{5, 1, compressible}
	write(t, s, 5, c.bytes())
	damage := &s.image.Mem[s.image.ObjectAt(s.idx.load(5).Where())+image.HeaderSize]

	l := s.lock(5)
	l.Lock()
	*damage ^= 1
	type result struct {
		p   []byte
		err error
	}
	done := make(chan result)
	w := s.Acquire()
	go func() {
		p := make([]byte, PageSize)
		err := w.Read(5, 0, p)
		done <- result{p, err}
	}()
	select {
	case r := <-done:
		t.Fatalf("read of a damaged page ended without the page's lock: %v", r.err)
	case <-time.After(50 * time.Millisecond): // it waits for the lock now
	}
	*damage ^= 1
	l.Unlock()
	r := <-done
	w.Release()
	if r.err != nil || !bytes.Equal(r.p, c.bytes()) {
		t.Fatalf("second look: %v", r.err)
	}
	if n := s.Stats().ChecksumErrors.Count; n != 0 {
		t.Errorf("%d checksum errors counted", n)
	}
}
