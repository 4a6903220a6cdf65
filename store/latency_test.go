// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// latencies runs f over and over and reports what its median and its slowest
// hundredth take. The device is full of real pages, and stays so.
func latencies(b *testing.B, name string, f func(s *Store, data [][]byte, i int)) {
	s, data := benchmarkStore(b, name)
	b.SetBytes(0)
	taken := make([]time.Duration, 0, 1<<20)
	runtime.GC() // what filling the device left is not what is measured
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		f(s, data, i)
		if took := time.Since(start); len(taken) < cap(taken) {
			taken = append(taken, took)
		}
	}
	slices.Sort(taken)
	b.ReportMetric(float64(taken[len(taken)/2].Nanoseconds())/1000, "p50-us")
	b.ReportMetric(float64(taken[len(taken)*99/100].Nanoseconds())/1000, "p99-us")
}

// scattered is the page that a test touches as its ith.
func scattered(s *Store, i int) uint64 { return uint64(i) * 7919 % s.Pages() }

func putPage(b *testing.B, s *Store, page uint64, data []byte) {
	w := s.Acquire()
	if err := w.Write(page, 0, data); err != nil {
		b.Fatal(err)
	}
	w.Release()
}

func getPage(b *testing.B, s *Store, page uint64, p []byte) {
	w := s.Acquire()
	if err := w.Read(page, 0, p); err != nil {
		b.Fatal(err)
	}
	w.Release()
}

// G.111 to G.114: one page written, one read, a thousand read, a thousand written,
// on a device of 256 MiB that is full of real pages.
func BenchmarkG111(b *testing.B) {
	p := make([]byte, PageSize)
	for _, c := range []struct {
		name string
		f    func(b *testing.B, s *Store, data [][]byte, i int)
	}{
		{"G111 one page written", func(b *testing.B, s *Store, data [][]byte, i int) {
			putPage(b, s, scattered(s, i), data[i%len(data)])
		}},
		{"G113 one page read", func(b *testing.B, s *Store, _ [][]byte, i int) { getPage(b, s, scattered(s, i), p) }},
		{"G112 1000 pages written", func(b *testing.B, s *Store, data [][]byte, i int) {
			for n := i * 1000; n < i*1000+1000; n++ {
				putPage(b, s, uint64(n)%s.Pages(), data[n%len(data)])
			}
		}},
		{"G114 1000 pages read", func(b *testing.B, s *Store, _ [][]byte, i int) {
			for n := i * 1000; n < i*1000+1000; n++ {
				getPage(b, s, uint64(n)%s.Pages(), p)
			}
		}},
	} {
		for _, name := range []string{"adaptive", "page"} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				latencies(b, name, func(s *Store, data [][]byte, i int) { c.f(b, s, data, i) })
			})
		}
	}
}

// F063: eight threads on two processors do at least 1.8 times what one does. Run it
// on more processors for the other half of the claim, six times on eight.
func BenchmarkF063(b *testing.B) {
	for _, name := range []string{"adaptive", "page"} {
		for _, what := range []string{"write", "read"} {
			for _, threads := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, what, threads), func(b *testing.B) {
					s, data := benchmarkStore(b, name)
					var next atomic.Int64
					var working sync.WaitGroup
					for range threads {
						working.Go(func() {
							p := make([]byte, PageSize)
							for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
								if what == "write" {
									putPage(b, s, scattered(s, i), data[i%len(data)])
								} else {
									getPage(b, s, scattered(s, i), p)
								}
							}
						})
					}
					working.Wait()
				})
			}
		}
	}
}

// BenchmarkDiscard tells what Discard takes a page, all of them stored: it bounds
// how much one request may discard.
func BenchmarkDiscard(b *testing.B) {
	for _, c := range []struct {
		name, algorithm string
		pages           uint64
	}{{"adaptive", "adaptive", 4096}, {"adaptive", "adaptive", 2048}, {"raw", "raw", 4096}, {"raw", "raw", 2048}} {
		b.Run(fmt.Sprintf("%s/%d", c.name, c.pages), func(b *testing.B) {
			s, data := benchmarkStore(b, c.algorithm)
			b.SetBytes(0)
			var total, worst time.Duration
			n := uint64(0)
			for b.Loop() {
				first := n * c.pages % s.Pages()
				n++
				w := s.Acquire()
				start := time.Now()
				w.Discard(first, c.pages)
				w.Release()
				took := time.Since(start)
				total += took
				worst = max(worst, took)
				b.StopTimer()
				for i := range c.pages { // so that neighbours on the device are none in memory
					page := first + i*1021%c.pages
					putPage(b, s, page, data[int(page)%len(data)])
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(total.Nanoseconds())/float64(n*c.pages), "ns/page")
			b.ReportMetric(float64(worst.Microseconds()), "worst-us")
		})
	}
}
