// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Pages of a full store that are written back here and there make room: the compactor keeps the
// segment that it needs to gather what they leave.
func TestWriteBackOfAFullStore(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 30, MemLimit: 20 << 20, Backing: newBacking(t, 1<<16)})
	rng, p := rand.New(rand.NewPCG(1, 1)), make([]byte, PageSize)
	try := func(page uint64) error {
		for i := range 1000 {
			p[i] = byte(rng.Uint32())
		}
		w := s.Acquire()
		defer w.Release()
		return w.Write(page, 0, p)
	}
	end, pages := uint64(0), []Selection{}
	for ; try(end) == nil; end++ {
		if end%17 == 0 {
			pages = append(pages, Selection{First: end, End: end + 1})
		}
	}
	dry := 0
	did, err := s.WriteBack(WritebackConfig{Pages: pages, Grant: func(n int) (int, error) {
		s.passMu.Lock()
		defer s.passMu.Unlock()
		if s.reserve() == 0 {
			dry++
		}
		return n, nil
	}})
	if dry > 0 {
		t.Errorf("the compactor was left without a segment %d times", dry)
	}
	if err != nil || did.Pages < uint64(len(pages)) {
		t.Errorf("%+v of %d, %v", did, len(pages), err)
	}
	for n := range did.Pages / 2 {
		if err := try(end + n); err != nil {
			t.Fatalf("%d pages were written back, then %d were written: %v", did.Pages, n, err)
		}
	}
	holds(t, s)
}

// An object that takes no more memory than a stub stays.
func TestSmallObjectsAreNotWrittenBack(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, Backing: newBacking(t, 1000)})
	p := make([]byte, PageSize)
	for page := range uint64(500) {
		p[page], p[page+600] = 1, 2
		write(t, s, page, p)
		clear(p)
	}
	before := s.footprint()
	if did := mustWriteBack(t, s, everything); did.Pages != 0 || s.footprint() != before {
		t.Errorf("%+v: objects took %d bytes, and then %d", did, before, s.footprint())
	}
}

// Pages that requests are at stay in memory, in clusters or not, until they are left alone.
func TestBusyPagesAreNotWrittenBack(t *testing.T) {
	for _, joined := range []bool{false, true} {
		s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page"), Backing: newBacking(t, 300)})
		for page := range s.Pages() {
			write(t, s, page, texts(1)[0])
		}
		changed := uint64(image.ClusterPages) // they were written, and then could not be published
		if joined {
			join(t, s)
			changed = 0
		}
		busy := s.lock(0)
		busy.Lock()
		did := mustWriteBack(t, s, everything)
		for page := range s.Pages() {
			if away := s.PageState(page).WrittenBack; away != (s.lock(page) != busy) {
				t.Errorf("joined: %v: page %d is written back: %v", joined, page, away)
			}
		}
		busy.Unlock()
		if did.Changed != changed || did.Pages != s.Pages()-image.ClusterPages {
			t.Errorf("joined: %v: %+v", joined, did)
		}
		if did = mustWriteBack(t, s, everything); did.Pages != image.ClusterPages || did.Changed != 0 {
			t.Errorf("joined: %v: once they are left alone: %+v", joined, did)
		}
	}
}

// Where blocks are free here and there, what was granted and not written is given back.
func TestUnusedGrantsAreGivenBack(t *testing.T) {
	s := newBackedStore(t, 100, Config{Backing: newBacking(t, 400)})
	for n := uint64(1); n < 400; n += 2 {
		s.writtenBack.blocks.adopt(n)
	}
	granted, most := 0, 0
	did := mustWriteBack(t, s, WritebackConfig{Pages: everything.Pages, Grant: func(n int) (int, error) {
		granted += n
		most = max(most, n)
		return n, nil
	}})
	if did.Pages != 100 || granted != 100 || most != batchPages {
		t.Errorf("%+v, %d pages were granted in all, %d at the most", did, granted, most)
	}
	failed := errors.New("no more")
	write(t, s, 0, testContent(0, 2).bytes())
	others := []uint64{}
	for n := range uint64(400) {
		if n%2 == 1 || s.writtenBack.blocks.adopt(n) {
			others = append(others, n)
		}
	}
	_, err := s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: func(n int) (int, error) {
		if n < 0 {
			return 0, failed
		}
		return n, nil
	}})
	if !errors.Is(err, failed) || !errors.Is(err, ErrBackingFull) {
		t.Errorf("on a full device, where grants cannot be given back: %v", err)
	}
	for _, n := range others {
		s.writtenBack.blocks.release(n)
	}
}

// Without a segment for stubs nothing is written, and the last one stays the compactor's.
func TestWriteBackWithoutRoomForStubs(t *testing.T) {
	s := newBackedStore(t, 100, Config{Backing: newBacking(t, 100)})
	defer s.unmaintained()()
	s.patience = 0
	for s.reserve() > 1 {
		if !s.cedeSegment(0) {
			t.Fatal("a segment cannot be given back")
		}
	}
	for _, o := range []*openSegment{&s.writtenBack.batch.open, &s.writtenBack.batch.spare} {
		if n := o.end/image.SegmentSize - 1; o.end != 0 {
			*o = openSegment{}
			s.segment(n).turn(segOpen, segSealed)
			s.emptied(n)
		}
	}
	if did, err := s.WriteBack(everything); !errors.Is(err, ErrFull) || did != (WrittenBack{}) || s.reserve() != 1 || !s.writtenBack.short.Load() {
		t.Errorf("%+v, %v, %d segments are ready", did, err, s.reserve())
	}
	if err := s.grow(); err != nil {
		t.Fatal(err)
	}
	if did := mustWriteBack(t, s, everything); did.Pages != 100 || s.writtenBack.short.Load() {
		t.Errorf("%+v", did)
	}
}
