// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A process that died leaves objects placed and not published, published and
// not freed, and segments half full. Another carries on.
func TestOpenCarriesOn(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 16 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for page := range uint32(2000) {
		write(t, s, uint64(page), content{page, 1, contentKind(page) % contentKinds}.bytes())
	}
	w := s.Acquire()
	if _, err := w.encode(7, content{7, 9, random}.bytes()); err != nil { // placed, never published
		t.Fatal(err)
	}
	old := s.idx.swap(findEntry(t, s, image.Entry.Object), 0) // unpublished, never freed
	if old == 0 {
		t.Fatal("nothing to unpublish")
	}
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	holds(t, s)
	differ := 0
	for page := range uint32(2000) {
		if !bytes.Equal(read(t, s, uint64(page)), content{page, 1, contentKind(page) % contentKinds}.bytes()) {
			differ++
		}
	}
	if differ != 1 {
		t.Errorf("%d pages differ, want the one that was unpublished", differ)
	}
	write(t, s, 3000, content{3000, 1, random}.bytes())
}

// die ends a store as a killed process does: nothing is settled.
func (s *Store) die() {
	close(s.stop)
	<-s.stopped
	if err := errors.Join(dropBuffer(s.writtenBack.buffer), s.memory.unmap()); err != nil {
		panic(err)
	}
}

// An entry that cannot be costs its page and no other: it is told at once, the
// page answers ErrCorrupt, and a write or a discard heals it.
func TestOpenWithImpossibleEntries(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 16 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for page := range uint32(100) {
		write(t, s, uint64(page), content{page, 1, tableWord}.bytes())
	}
	bad := map[uint64]image.Entry{3: image.SameEntry(31, 5), 50: image.ObjectEntry(0, 0, 77), 70: image.ObjectEntry(s.image.Segments*image.SegmentSize, 2, 300)}
	for page, e := range bad {
		s.idx.entries[page].Store(uint64(e))
	}
	s.die()
	told := map[uint64]int{}
	cfg.OnCorrupt = func(page uint64) { told[page]++ }
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	if st := s.Stats(); len(told) != len(bad) || st.ChecksumErrors.Count != uint64(len(bad)) {
		t.Errorf("told of %v, counted %d", told, st.ChecksumErrors.Count)
	}
	w := s.Acquire()
	p := make([]byte, PageSize)
	for page := range bad {
		if err := w.Read(page, 0, p); told[page] != 2 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("page %d: told %d times, read: %v", page, told[page], err)
		}
	}
	w.Discard(3, 1)
	w.Release()
	write(t, s, 50, content{50, 1, tableWord}.bytes())
	write(t, s, 70, content{70, 1, tableWord}.bytes())
	for page := range uint32(100) {
		want := content{page, 1, tableWord}.bytes()
		if page == 3 {
			clear(want)
		}
		if !bytes.Equal(read(t, s, uint64(page)), want) {
			t.Errorf("page %d is wrong", page)
		}
	}
}

// Reads, writes, discards and compaction go on in segments that are not swept
// yet, and what was dead at Open is clear in the end.
func TestServesWhileItSweeps(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 64 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t, s)
	m.run(4, 0, opsFor(t))
	for page := range uint64(300) { // died before it could free these
		s.idx.swap(page*17, 0)
		m.pages[page*17] = make([]byte, PageSize)
	}
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	if s.unswept.Load() == 0 {
		t.Error("there is nothing to sweep")
	}
	m.s = s
	m.run(4, 2, opsFor(t)/4)
	for deadline := time.Now().Add(10 * time.Second); s.unswept.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d segments were not swept", s.unswept.Load())
		}
	}
}

// The index pages of a device beyond populateUpTo are found again, and one that
// was taken when the process died, and not yet noted, is given back.
func TestOpenHugeDevice(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: steppedDisk, MaxMemory: 1 << 28})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20) {
		write(t, s, i*100_000, content{uint32(i), 1, random}.bytes())
	}
	s.passMu.Lock()
	if s.idx.has(s.image.IndexPages - 7) {
		t.Fatal("the test takes what is there")
	}
	if err := s.memory.allocate(s.image.IndexOffset+int64(s.image.IndexPages-7)*PageSize, PageSize); err != nil {
		t.Fatal(err)
	}
	s.passMu.Unlock()
	s.die()
	before := uint64(s.indexBytes())
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	if after := s.Stats().IndexBytes; after != before {
		t.Errorf("the index takes %d bytes, took %d", after, before)
	}
}

// Killed while it created the image, at worst in the middle of the superblock.
func TestCreateAfterDeathInCreate(t *testing.T) {
	for _, size := range []uint64{16 << 20, steppedDisk} {
		mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: size, MaxMemory: 1 << 28})
		s, err := Create(mem, cfg)
		if err != nil {
			t.Fatal(err)
		}
		clear(s.image.Mem[30:PageSize])
		s.die()
		if _, err := Open(mem, cfg); !errors.Is(err, ErrChecksum) {
			t.Fatalf("%v, want ErrChecksum", err)
		}
		if s, err = Create(mem, cfg); err != nil {
			t.Fatal(err)
		}
		write(t, s, s.Pages()-1, content{1, 1, random}.bytes())
		finish(t, s)
	}
}

// Killed while it wrote an object's header, before its length.
func TestOpenAfterDeathInAHeader(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 1 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, 3, content{3, 1, random}.bytes())
	w := s.Acquire()
	where, err := w.room(200)
	if err != nil {
		t.Fatal(err)
	}
	s.image.HeaderAt(where).Page = 77
	s.die()
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	finish(t, s)
}

// One damaged bit in the length of an object costs its page, and no other.
func TestOpenAfterDamageToALength(t *testing.T) {
	for bit := range 13 {
		mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 16 << 20})
		s, err := Create(mem, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for page := range uint32(100) {
			write(t, s, uint64(page), content{page, page, compressible}.bytes())
		}
		s.image.HeaderAt(s.idx.load(0).Where()).Length ^= 1 << bit
		s.die()
		if s, err = Open(mem, cfg); err != nil {
			t.Fatal(err)
		}
		for page := range uint32(100) {
			if page != 0 && !bytes.Equal(read(t, s, uint64(page)), content{page, page, compressible}.bytes()) {
				t.Fatalf("bit %d: page %d is wrong", bit, page)
			}
		}
		s.die()
	}
}

// Opened with a limit below what is stored, a device works again once enough of
// it was freed.
func TestOpenBelowWhatIsStored(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 64 << 20, MemLimit: limitOf(64<<20, 60)})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stored := fillUp(t, s)
	finish(t, s)
	cfg.MemLimit = limitOf(64<<20, 50)
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	w := s.Acquire()
	for page := range stored {
		if page%4 != 0 {
			w.Discard(page, 1)
		}
	}
	w.Release()
	for deadline := time.Now().Add(10 * time.Second); tryWrite(s, 1, 3) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("three quarters are free and no page is taken")
		}
	}
}

// Whatever the first bytes, the bitmap and the index of an image say, Open
// refuses them or yields a store that reads without a panic.
func FuzzOpen(f *testing.F) {
	f.Add(uint16(0), []byte{1}, false)
	f.Add(uint16(8), []byte{2, 0, 0, 0}, true)
	f.Add(uint16(44), []byte{0xff}, true)
	f.Add(uint16(image.SlotAt(image.SameWords)), []byte{0xff, 0xff}, false)
	f.Add(uint16(10*PageSize), []byte{1, 2, 3, 4, 5, 6, 7, 8}, false)
	f.Add(uint16(10*PageSize), objectBytes(image.ObjectEntry(64, 2, 300)), false)
	f.Fuzz(func(t *testing.T, off uint16, change []byte, resum bool) {
		mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 4 << 20, MaxMemory: 16 << 20})
		s, err := Create(mem, cfg)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s, 0, content{0, 1, compressible}.bytes())
		if limit := s.image.IndexOffset + 8*PageSize; int64(off)+int64(len(change)) <= limit {
			copy(s.image.Mem[off:], change)
		}
		if b := (image.Superblock{}); resum && off < 44 { // let a changed number pass the checksum
			if b, err = image.DecodeSuperblock(s.image.Mem); errors.Is(err, ErrChecksum) {
				copy(s.image.Mem, b.Encode())
			}
		}
		s.die()
		if s, err = Open(mem, cfg); err != nil {
			return
		}
		w := s.Acquire()
		p := make([]byte, PageSize)
		for page := range min(s.Pages(), 1024) {
			_ = w.Read(page, 0, p) // an error is an answer
		}
		w.Release()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func objectBytes(e image.Entry) []byte {
	p := make([]byte, 8)
	for i := range p {
		p[i] = byte(e >> (8 * i))
	}
	return p
}

// An image that cannot be read is refused with the reason.
func TestOpenOfWhatCannotBeRead(t *testing.T) {
	mem, err := NewMemory(MemoryAuto)
	if err != nil {
		t.Fatal(err)
	}
	if mem.Kind() == MemoryHeap {
		t.Skip("the race detector's build has its images on the heap")
	}
	if err := mem.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(mem, Config{}); s != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Open: %v", err)
	}
	if err := mem.Check(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Check: %v", err)
	}
	if b, err := mem.Superblock(); b != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Superblock: %v", err)
	}
}
