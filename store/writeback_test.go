// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// everything selects all pages.
var everything = WritebackConfig{Pages: []Selection{{End: 1 << 32}}}

// newBacking makes a backing device in memory, with room for some pages.
func newBacking(tb testing.TB, blocks uint64) *Backing {
	tb.Helper()
	f, err := backingInMemory()
	if err != nil {
		tb.Fatal(err)
	}
	return backingOn(tb, f, blocks)
}

// newDiskBacking is newBacking on a file, read and written as OpenBacking has it.
func newDiskBacking(tb testing.TB, blocks uint64) *Backing {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "backing")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	f, err := openBacking(path)
	if err != nil {
		tb.Fatal(err)
	}
	return backingOn(tb, f, blocks)
}

func backingOn(tb testing.TB, f *os.File, blocks uint64) *Backing {
	tb.Helper()
	if err := f.Truncate(int64(blocks * PageSize)); err != nil {
		tb.Fatal(err)
	}
	s, err := NewSecret()
	if err != nil {
		tb.Fatal(err)
	}
	b, err := NewBacking(f, s)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// newBackedStore makes a store with pages of alternating kinds, and a backing device.
func newBackedStore(t *testing.T, pages uint64, cfg Config) *Store {
	t.Helper()
	cfg.Disksize = 16 << 20
	s := newStore(t, cfg)
	for page := range pages {
		write(t, s, page, testContent(page, 1).bytes())
	}
	return s
}

func testContent(page uint64, version uint32) content {
	return content{uint32(page), version, compressible + contentKind(page%3)}
}

func mustWriteBack(t *testing.T, s *Store, cfg WritebackConfig) WrittenBack {
	t.Helper()
	did, err := s.WriteBack(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

func (s *Store) blocksTaken() uint64 {
	s.writtenBack.blocks.mu.Lock()
	defer s.writtenBack.blocks.mu.Unlock()
	return s.writtenBack.blocks.used
}

// Of the pages that were not accessed for an age, and no others.
func TestWriteBackOldPages(t *testing.T) {
	s := newBackedStore(t, 300, Config{Backing: newBacking(t, 1000)})
	c := newCalendar(s)
	c.walk(1000, false)
	for page := range uint64(100) {
		read(t, s, page)
	}
	if did := mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: s.Pages(), Age: 2000 * time.Second}}}); did.Pages != 0 {
		t.Errorf("%+v of pages that are younger", did)
	}
	if did := mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: s.Pages(), Age: 300 * time.Second}}}); did.Pages != 200 {
		t.Errorf("%+v, want 200 pages", did)
	}
	for page := range uint64(300) {
		if away := s.PageState(page).WrittenBack; away != (page >= 100) {
			t.Fatalf("page %d is away: %v", page, away)
		}
		if got, want := read(t, s, page), testContent(page, 1).bytes(); !bytes.Equal(got, want) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
}

// The coldest pages leave memory first, though others are larger, and with them those of their age.
func TestWriteBackColdest(t *testing.T) {
	s := newBackedStore(t, 300, Config{Backing: newBacking(t, 1000)})
	c := newCalendar(s)
	for tick, pages := range []uint64{200, 100} {
		c.walk(1000*int64(tick+1), false)
		for page := range pages {
			read(t, s, page)
		}
	}
	c.walk(2500, false)
	for i, coldest := range []int{1, 100, 101} { // pages from 200 on, from 100 on, and all the others
		if did := mustWriteBack(t, s, WritebackConfig{Pages: everything.Pages, Coldest: coldest}); did.Pages != 100 {
			t.Errorf("%+v, want 100 pages", did)
		}
		for page := range uint64(300) {
			if away := s.PageState(page).WrittenBack; away != (page >= 200-100*uint64(i)) {
				t.Fatalf("page %d is away: %v, at the coldest %d", page, away, coldest)
			}
		}
	}
}

// Pages that are written back leave memory, read as they were, and are changed as any other.
func TestWriteBack(t *testing.T) {
	const pages = 1000
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 16 << 20, Backing: newDiskBacking(t, 2*pages)})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for page := range uint64(pages) {
		write(t, s, page, testContent(page, 1).bytes())
	}
	write(t, s, pages, content{pages, 1, smallWord}.bytes())
	before := s.Stats()
	if did := mustWriteBack(t, s, everything); did.Pages != pages || did.Changed != 0 {
		t.Errorf("%+v, want %d pages", did, pages)
	}
	st := s.Stats()
	if st.WrittenBack != pages || st.BackingWrites != pages || st.BackingReads != 0 || st.BackingPages != 2*pages ||
		st.OrigDataSize != before.OrigDataSize || st.ComprDataSize != 0 || st.HugePages != 0 || st.SamePages != 1 {
		t.Errorf("%+v", st)
	}
	if n := s.footprint(); n != uint64(pages*image.Footprint(image.StubSize)) {
		t.Errorf("stubs take %d bytes", n)
	}
	eventually(t, "memory is given back", func() bool { return s.Stats().MemUsedTotal < before.MemUsedTotal })
	for page := range uint64(pages) {
		if !bytes.Equal(read(t, s, page), testContent(page, 1).bytes()) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
	if n := s.Stats().BackingReads; n != pages {
		t.Errorf("%d pages were read from the device, %d should be", n, pages)
	}
	changeBacked(t, s)
	holds(t, s)
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	if n := s.Stats().WrittenBack; n != pages-3 || s.blocksTaken() != n {
		t.Errorf("opened again, %d pages are written back in %d blocks, want %d", n, s.blocksTaken(), pages-3)
	}
	for page := range uint64(pages) {
		if got := read(t, s, page); page > 2 && !bytes.Equal(got, testContent(page, 1).bytes()) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
	finish(t, s)
}

// changeBacked overwrites page 0, discards page 1 and changes a part of page 2.
func changeBacked(t *testing.T, s *Store) {
	t.Helper()
	write(t, s, 0, testContent(0, 2).bytes())
	w := s.Acquire()
	w.Discard(1, 1)
	err := w.Write(2, 100, []byte("a part"))
	w.Release()
	want := testContent(2, 1).bytes()
	copy(want[100:], "a part")
	if err != nil || !bytes.Equal(read(t, s, 2), want) {
		t.Errorf("a part of a page that was written back: %v, or it is wrong", err)
	}
	if !bytes.Equal(read(t, s, 0), testContent(0, 2).bytes()) || !bytes.Equal(read(t, s, 1), make([]byte, PageSize)) {
		t.Error("a page that was overwritten or discarded is wrong")
	}
	eventually(t, "their blocks are free", func() bool { return s.blocksTaken() == s.Stats().WrittenBack })
}

// A selection is of the pages that meet all that it asks.
func TestWriteBackSelects(t *testing.T) {
	s := newBackedStore(t, 90, Config{Backing: newBacking(t, 100)})
	state := func() (away []uint64) {
		for page := range uint64(90) {
			if st := s.PageState(page); st.WrittenBack {
				if away = append(away, page); st.Length != 0 || st.Huge || st.Idle {
					t.Errorf("page %d: %+v", page, st)
				}
			}
		}
		return away
	}
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{First: 3, End: 4}, {First: 10, End: 12}}})
	if got := state(); !slices.Equal(got, []uint64{3, 10, 11}) {
		t.Errorf("by number: %v", got)
	}
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: 90, Idle: true}, {End: 90, Incompressible: true}}})
	if got := state(); len(got) != 3 {
		t.Errorf("no page is idle or incompressible: %v", got)
	}
	if n := s.MarkIdle(0); n != 87 {
		t.Errorf("%d pages are idle, 87 should be", n)
	}
	read(t, s, 8)
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: 90, Idle: true, Huge: true}}})
	for page := range uint64(90) {
		want := page%3 == 2 && page != 8 || page == 3 || page == 10
		if s.PageState(page).WrittenBack != want {
			t.Errorf("huge and idle: page %d: %+v", page, s.PageState(page))
		}
	}
	mustWriteBack(t, s, everything)
	if got := state(); len(got) != 90 {
		t.Errorf("%d pages are written back in the end", len(got))
	}
}

// A block that is damaged, or that belongs to another page or time, is never taken for data, and
// costs its own page only.
func TestWrittenBackBlocksAreProved(t *testing.T) {
	b := newBacking(t, 100)
	s := newBackedStore(t, 10, Config{Backing: b})
	mustWriteBack(t, s, everything)
	stub := func(page uint64) image.Stub {
		st, ok := s.stub(page, s.idx.load(page))
		if !ok {
			t.Fatalf("page %d has no stub", page)
		}
		return st
	}
	block := func(page uint64) []byte {
		p := s.writtenBack.batch.sealed[:PageSize]
		if err := b.read(p, uint64(stub(page).Block)); err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(p)
	}
	put := func(page uint64, p []byte) {
		copy(s.writtenBack.batch.sealed, p)
		if err := b.write(s.writtenBack.batch.sealed[:PageSize], uint64(stub(page).Block)); err != nil {
			t.Fatal(err)
		}
	}
	for page := range uint64(10) {
		if plain := testContent(page, 1).bytes(); bytes.Contains(block(page), plain[16:48]) {
			t.Errorf("page %d lies on the device in the clear", page)
		}
	}
	damaged, one, two, old := block(0), block(1), block(2), block(3)
	damaged[PageSize-1] ^= 1
	put(0, damaged)
	put(1, two)
	put(2, one)
	at := stub(3).Block
	write(t, s, 3, testContent(3, 2).bytes())
	eventually(t, "the block is free", func() bool { return s.blocksTaken() == 9 })
	s.writtenBack.blocks.next = uint64(at)
	mustWriteBack(t, s, everything)
	if stub(3).Block != at {
		t.Fatalf("page 3 came to block %d, not %d", stub(3).Block, at)
	}
	put(3, old)
	for page := range uint64(10) {
		w := s.Acquire()
		p := make([]byte, PageSize)
		err := w.Read(page, 0, p)
		part := w.Write(page, 4000, []byte("part"))
		w.Release()
		if bad := page < 4; errors.Is(err, ErrCorrupt) != bad || errors.Is(part, ErrCorrupt) != bad {
			t.Errorf("page %d: read: %v, write of a part: %v", page, err, part)
		}
	}
	if st := s.Stats(); st.FailedReads.Count != 4 || st.FailedWrites.Count != 4 || st.ChecksumErrors.Count != 8 {
		t.Errorf("%+v %+v %+v", st.FailedReads, st.FailedWrites, st.ChecksumErrors)
	}
	for page := range uint64(4) {
		write(t, s, page, testContent(page, 5).bytes())
		if !bytes.Equal(read(t, s, page), testContent(page, 5).bytes()) {
			t.Errorf("page %d is wrong", page)
		}
	}
}

// A device that is full, or fails, costs no page that is still in memory.
func TestBackingDeviceFullOrFailing(t *testing.T) {
	b := newBacking(t, 50)
	s := newBackedStore(t, 100, Config{Backing: b})
	did, err := s.WriteBack(everything)
	if !errors.Is(err, ErrBackingFull) || did.Pages != 50 {
		t.Errorf("full: %+v, %v", did, err)
	}
	discard(s, 2, 1) // a huge page: those are written first
	if did, err = s.WriteBack(everything); !errors.Is(err, ErrBackingFull) || did.Pages != 1 {
		t.Errorf("full again: %+v, %v", did, err)
	}
	if err := b.file.(*os.File).Truncate(0); err != nil {
		t.Fatal(err)
	}
	for page := range uint64(100) {
		w := s.Acquire()
		p, was := make([]byte, PageSize), s.PageState(page)
		err := w.Read(page, 0, p)
		w.Release()
		switch {
		case was.WrittenBack:
			if !errors.Is(err, ErrBacking) || !errors.Is(err, io.EOF) {
				t.Errorf("page %d of a device that was cut off: %v", page, err)
			}
		case err != nil || was.Stored && !bytes.Equal(p, testContent(page, 1).bytes()):
			t.Errorf("page %d in memory: %v, or it is wrong", page, err)
		}
	}
	discard(s, 0, 99) // blocks are free again
	if st := s.Stats(); st.WrittenBack != 0 || st.ChecksumErrors.Count != 0 {
		t.Errorf("%d pages are written back, %d damaged", st.WrittenBack, st.ChecksumErrors.Count)
	}
	failing, err := os.Open(os.DevNull) // not for writing
	if err != nil {
		t.Fatal(err)
	}
	whole := b.file
	b.file = failing
	if did, err := s.WriteBack(everything); !errors.Is(err, ErrBacking) || !errors.Is(err, syscall.EBADF) || did.Pages != 0 {
		t.Errorf("failing: %+v, %v", did, err)
	}
	if st := s.Stats(); st.BackingErrors.Count != 1 || s.blocksTaken() != 0 {
		t.Errorf("%d errors are counted, %d blocks taken", st.BackingErrors.Count, s.blocksTaken())
	}
	if !bytes.Equal(read(t, s, 99), testContent(99, 1).bytes()) {
		t.Error("the page in memory is wrong")
	}
	b.file = whole
	if err := failing.Close(); err != nil {
		t.Error(err)
	}
}

// Only granted pages are written, and grants of other pages are given back.
func TestWritebackLimit(t *testing.T) {
	s := newBackedStore(t, 100, Config{Backing: newBacking(t, 200)})
	left := 41
	grant := func(n int) (int, error) {
		n = min(n, left)
		left -= n
		return n, nil
	}
	did, err := s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: grant})
	if !errors.Is(err, ErrBudget) || did.Pages != 41 || left != 0 {
		t.Errorf("%+v, %v, %d left", did, err, left)
	}
	left = 100
	if did, err = s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: grant}); err != nil || did.Pages != 59 || left != 41 {
		t.Errorf("%+v, %v, %d left", did, err, left)
	}
	stop := errors.New("stop")
	write(t, s, 0, testContent(0, 2).bytes())
	if did, err = s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: func(int) (int, error) { return 0, stop }}); err != stop || did.Pages != 0 {
		t.Errorf("%+v, %v", did, err)
	}
}

// Without a backing device there is nothing to write to, and an image is opened as it was made.
func TestBackingDeviceIsTheImages(t *testing.T) {
	plain := newStore(t, Config{Disksize: 1 << 20})
	if _, err := plain.WriteBack(everything); !errors.Is(err, ErrNoBacking) {
		t.Error(err)
	}
	b := newBacking(t, 10)
	for _, made := range []*Backing{nil, b} {
		mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 1 << 20, Backing: made})
		s, err := Create(mem, cfg)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, s)
		if cfg.Backing = b; made != nil {
			cfg.Backing = nil
		}
		if _, err := Open(mem, cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("made with one: %v, opened otherwise: %v", made != nil, err)
		}
	}
}

// Objects that were written back are moved by compaction, and keep their blocks.
func TestCompactionMovesStubs(t *testing.T) {
	s := newBackedStore(t, 4000, Config{Backing: newBacking(t, 5000)})
	change := func(to func(page uint64) []byte) {
		for page := range uint64(4000) {
			if page%16 != 0 {
				write(t, s, page, to(page))
			}
		}
	}
	mustWriteBack(t, s, everything)
	where := s.idx.load(16) // the maintainer may move it at any time from here on
	change(func(page uint64) []byte { return testContent(page, 2).bytes() })
	mustWriteBack(t, s, everything) // the stubs of before lie in a segment that is full
	change(func(uint64) []byte { return make([]byte, PageSize) })
	eventually(t, "the stub moves", func() bool { s.CompactNow(nil); return s.idx.load(16) != where })
	holds(t, s)
	if n := s.blocksTaken(); n != 250 {
		t.Errorf("%d blocks are taken, 250 pages are written back", n)
	}
	for page := uint64(0); page < 4000; page += 16 {
		if !bytes.Equal(read(t, s, page), testContent(page, 1).bytes()) {
			t.Fatalf("page %d is wrong", page)
		}
	}
}
