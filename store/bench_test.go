// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

func benchmarkStore(b *testing.B, name string) (*Store, [][]byte) {
	b.Helper()
	s := newStore(b, Config{Disksize: 256 << 20, Algorithm: algorithm(b, name)})
	data := pages.Real(b)
	for page := range s.Pages() {
		write(b, s, page, data[int(page)%len(data)])
	}
	b.SetBytes(PageSize)
	b.ReportAllocs()
	b.ResetTimer()
	return s, data
}

func BenchmarkWrite(b *testing.B) {
	for _, name := range codec.Algorithms() {
		b.Run(name, func(b *testing.B) {
			s, data := benchmarkStore(b, name)
			for i := 0; b.Loop(); i++ {
				w := s.Acquire()
				page := uint64(i) * 7919 % s.Pages()
				if err := w.Write(page, 0, data[i%len(data)]); err != nil {
					b.Fatal(err)
				}
				w.Release()
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, name := range codec.Algorithms() {
		b.Run(name, func(b *testing.B) {
			s, _ := benchmarkStore(b, name)
			p := make([]byte, PageSize)
			for i := 0; b.Loop(); i++ {
				w := s.Acquire()
				if err := w.Read(uint64(i)*7919%s.Pages(), 0, p); err != nil {
					b.Fatal(err)
				}
				w.Release()
			}
		})
	}
}

// BenchmarkOpen opens an empty device of 1 TiB.
func BenchmarkOpen(b *testing.B) {
	cfg := withAlgorithm(b, Config{Disksize: 1 << 40, MaxMemory: 1 << 36})
	for b.Loop() {
		mem := newMemory(b)
		s, err := Create(mem, cfg)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenFull opens a device of some MiB, full of real pages, as a worker does that carries
// on after another.
func BenchmarkOpenFull(b *testing.B) {
	for _, size := range []uint64{1 << 30, 4 << 30} {
		b.Run(fmt.Sprint(size>>20), func(b *testing.B) {
			mem, cfg := newMemory(b), withAlgorithm(b, Config{Disksize: size})
			s, err := Create(mem, cfg)
			if err != nil {
				b.Fatal(err)
			}
			data := pages.Real(b)
			for page := range s.Pages() {
				write(b, s, page, data[int(page)%len(data)])
			}
			for b.Loop() {
				b.StopTimer()
				s.die()
				b.StartTimer()
				if s, err = Open(mem, cfg); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkCold is what a page takes of memory, all counted that the store takes from the machine:
// as written, packed by itself, and joined with its neighbours; and what joining takes of time.
// Pages are neighbours in a file that pagesample wrote with a large -max-pages.
func BenchmarkCold(b *testing.B) {
	data := pages.Real(b)
	for b.Loop() {
		s := mustCreate(b, Config{Disksize: (uint64(len(data))*PageSize + populateUpTo) &^ (populateUpTo - 1)})
		for page, p := range data {
			write(b, s, uint64(page), p)
		}
		report := func(unit string) {
			s.CompactNow(nil)
			time.Sleep(4 * settleEvery)
			b.ReportMetric(float64(s.Stats().MemUsedTotal)/float64(len(data)), unit)
		}
		report("hot-B/page")
		if _, err := s.Recompress(b.Context(), RecompressConfig{Algorithm: algorithm(b, "page:dense")}); err != nil {
			b.Fatal(err)
		}
		report("packed-B/page")
		begin := time.Now()
		if err := joinAll(s); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(begin).Microseconds())/float64(len(data)), "join-us/page")
		report("joined-B/page")
		b.ReportMetric(float64(s.Stats().Codecs[codec.PageDenseCluster].Pages)/float64(len(data)), "joined/page")
		finish(b, s)
	}
}

// BenchmarkNote is what a page's age costs a read and a write, and the loop without them.
func BenchmarkNote(b *testing.B) {
	s := newStore(b, Config{Disksize: 256 << 20, Algorithm: algorithm(b, "raw")})
	w := s.Acquire()
	defer w.Release()
	sum := uint64(0)
	b.Run("nothing", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			sum += i * 7919 % s.Pages()
		}
	})
	b.Run("read", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			w.noteRead(i * 7919 % s.Pages())
		}
	})
	b.Run("write", func(b *testing.B) {
		for i := uint64(0); b.Loop(); i++ {
			s.ages.noteWrite(i*7919%s.Pages(), 1)
		}
	})
}
