// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// eventually waits until ok, some seconds at the most.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so after twenty seconds: %s", what)
		}
	}
}

func writeOrFail(s *Store, page uint64, data []byte) error {
	w := s.Acquire()
	defer w.Release()
	return w.Write(page, 0, data)
}

func discard(s *Store, first, count uint64) {
	w := s.Acquire()
	defer w.Release()
	w.Discard(first, count)
}

// A limit below the use keeps all pages and fails writes, until pages are freed or the limit is
// raised; the use then stays below it.
func TestSetMemLimitBelowUse(t *testing.T) {
	s := newStore(t, Config{Disksize: 32 << 20})
	half := s.Pages() / 2
	for page := range half {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	lowered := uint64(s.used()) / 2
	s.SetMemLimit(lowered)
	if got := s.Stats().MemLimit; got != lowered {
		t.Errorf("the limit is %d, set was %d", got, lowered)
	}
	eventually(t, "writes fail", func() bool {
		return errors.Is(writeOrFail(s, half, content{uint32(half), 1, random}.bytes()), ErrFull)
	})
	for page := range half {
		if want := (content{uint32(page), 1, random}).bytes(); !bytes.Equal(read(t, s, page), want) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
	discard(s, 0, half*3/4)
	eventually(t, "the use falls below the limit", func() bool { return uint64(s.used()) <= lowered })
	write(t, s, half, content{uint32(half), 2, random}.bytes())
	if used := uint64(s.used()); used > lowered {
		t.Errorf("%d bytes are used, the limit is %d", used, lowered)
	}
	s.SetMemLimit(0)
	for page := range s.Pages() {
		write(t, s, page, content{uint32(page), 3, random}.bytes())
	}
}

// Garbage is compacted away to get below a lowered limit: pages spread thinly over the segments
// survive together in few.
func TestSetMemLimitPacks(t *testing.T) {
	s := newStore(t, Config{Disksize: 32 << 20})
	for page := range s.Pages() {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	s.passMu.Lock() // the maintainer stays out until the limit is there
	for page := range s.Pages() {
		if page%8 != 0 {
			discard(s, page, 1)
		}
	}
	s.SetMemLimit(8 << 20)
	s.passMu.Unlock()
	eventually(t, "the use falls below the limit", func() bool { return s.used() <= 8<<20 })
	for page := uint64(0); page < s.Pages(); page += 8 {
		if want := (content{uint32(page), 1, random}).bytes(); !bytes.Equal(read(t, s, page), want) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
}

func TestResetPeak(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	for page := range s.Pages() {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	discard(s, 0, s.Pages())
	eventually(t, "memory is given back", func() bool { return s.used() < 8<<20 })
	if st := s.Stats(); st.MemUsedMax < 16<<20 {
		t.Fatalf("the peak of a full device is %d", st.MemUsedMax)
	}
	s.ResetPeak()
	if st := s.Stats(); st.MemUsedMax != st.MemUsedTotal {
		t.Errorf("the peak is %d after it was reset, in use are %d", st.MemUsedMax, st.MemUsedTotal)
	}
}

// Where the maintainer leaves garbage alone, because it is little, CompactNow does not.
func TestCompactNow(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	for page := range s.Pages() {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	s.CompactNow(nil)
	for page := uint64(0); page < s.Pages(); page += 5 { // all in few segments
		if page%(16*62) < 62 {
			discard(s, page, 1)
		}
	}
	before := s.Stats()
	if pages := s.CompactNow(func() bool { return true }); pages != 0 {
		t.Errorf("%d pages given back after it was to end", pages)
	}
	pages := s.CompactNow(nil)
	after := s.Stats()
	if pages == 0 || after.PagesCompacted-before.PagesCompacted < pages || after.PagesCompacted > s.Pages() {
		t.Errorf("%d pages given back, counted were %d", pages, after.PagesCompacted-before.PagesCompacted)
	}
	for page := range s.Pages() {
		want := content{uint32(page), 1, random}.bytes()
		if page%5 == 0 && page%(16*62) < 62 {
			clear(want)
		}
		if !bytes.Equal(read(t, s, page), want) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
}

// The algorithm changes while writers and readers are at work; old pages stay readable, and new
// ones are of the new codec.
func TestSetAlgorithm(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, Algorithm: algorithm(t, "lz4")})
	m := newModel(t, s)
	stop := make(chan struct{})
	var setting sync.WaitGroup
	setting.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			names := []string{"zstd", "raw", "adaptive", "lz4", "page:dense"}
			if err := s.SetAlgorithm(algorithm(t, names[i%len(names)])); err != nil {
				t.Error(err)
			}
		}
	})
	m.run(4, 2, opsFor(t)/4)
	close(stop)
	setting.Wait()
	m.verify()
	zstd := algorithm(t, "zstd(level=1)")
	if err := s.SetAlgorithm(zstd); err != nil {
		t.Fatal(err)
	}
	if got := s.Algorithm(); got != zstd {
		t.Errorf("the algorithm is %s", got)
	}
	write(t, s, 0, content{0, 1, compressible}.bytes())
	if id := s.idx.load(0).Codec(); id != codec.Zstd {
		t.Errorf("a new page is of codec %s", id)
	}
}

func TestSetAlgorithmRefuses(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "lz4")})
	if err := s.SetAlgorithm(codec.Algorithm{}); !errors.Is(err, codec.ErrUnknownAlgorithm) {
		t.Errorf("no algorithm: %v", err)
	}
	if err := s.SetAlgorithm(algorithm(t, "zstd(dict=missing)")); !errors.Is(err, codec.ErrDictionary) {
		t.Errorf("a dictionary that was not read: %v", err)
	}
	other, err := codec.TrainDictionary(texts(300), 1, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := algorithm(t, "zstd(dict=d)").WithDictionary("/d", other)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetAlgorithm(foreign); !errors.Is(err, ErrConfig) {
		t.Errorf("a dictionary that objects cannot be read by: %v", err)
	}
	if r, err := s.NewRecompressor(RecompressConfig{Algorithm: foreign}); r != nil || !errors.Is(err, ErrConfig) {
		t.Errorf("recompression by a dictionary that objects cannot be read by: %v", err)
	}
	if got := s.Algorithm(); got != algorithm(t, "lz4") {
		t.Errorf("the algorithm became %s", got)
	}
}

// A limit that is too small for anything lets some pages be stored, on a device of any size, and
// takes no more memory for that than an empty device needs. It is shown as it was set.
func TestSetMemLimitTooSmall(t *testing.T) {
	sizes := []uint64{1 << 20, 64 << 20, populateUpTo, populateUpTo + PageSize}
	if !raceEnabled { // which has images in Go's memory
		sizes = append(sizes, 100<<30)
	}
	for _, disksize := range sizes {
		for _, limit := range []uint64{1, 1 << 20} {
			s := newStore(t, Config{Disksize: disksize})
			s.SetMemLimit(limit)
			for page := range uint64(16) {
				if err := writeOrFail(s, page, content{uint32(page), 1, random}.bytes()); err != nil {
					t.Errorf("size %d, limit %d: write page %d: %v", disksize, limit, page, err)
				}
			}
			st := s.Stats()
			if most := max(limit, s.leastUseful()); st.MemLimit != limit || most > 3<<20 {
				t.Errorf("size %d: the limit is %d, set was %d, and %d are in force", disksize, st.MemLimit, limit, most)
			}
			eventually(t, "the use falls below the limit", func() bool { return uint64(s.used()) <= max(limit, s.leastUseful()) })
			failed := false
			for page := uint64(16); page < s.Pages() && page < 1000 && !failed; page++ {
				failed = errors.Is(writeOrFail(s, page, content{uint32(page), 1, random}.bytes()), ErrFull)
			}
			if !failed && disksize > 1<<20 {
				t.Errorf("size %d, limit %d: no write fails", disksize, limit)
			}
		}
	}
}
