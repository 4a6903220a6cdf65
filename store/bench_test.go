// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"testing"

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
