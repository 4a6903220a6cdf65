// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Under the race detector a sync.Pool drops what it is given at random, so the library's decoder
// allocates.

package zstd

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// demanding returns pages that ask for long buffers and many tables.
func demanding() [][]byte {
	rng := rand.New(rand.NewPCG(7, 7))
	var all [][]byte
	for range 50 {
		all = append(all, randomPage(rng, MaxSize), literalPage(rng, MaxSize), unevenPage(rng, MaxSize), singleMatchPage(rng, MaxSize),
			recordPage(rng, MaxSize), shortMatches(rng))
		for size := 4; size < 9; size++ {
			all = append(all, wordPage(rng, MaxSize, size))
		}
	}
	return append(all, codectest.Generated()...)
}

// shortMatches has as many sequences as can be, by repeating 4 to 8 bytes of shortly before over
// and over.
func shortMatches(rng *rand.Rand) []byte {
	page := randomPage(rng, MaxSize)
	for at := 64; at+9 < len(page); {
		n := 4 + rng.IntN(5)
		from := at - 8 - rng.IntN(56)
		at += copy(page[at:at+n], page[from:from+n])
		at += rng.IntN(2)
	}
	return page
}

// countAllocs returns the allocations of one call of f. testing.AllocsPerRun calls a function once
// before it counts, which would hide just the first pages; that call does nothing here.
func countAllocs(f func()) float64 {
	first := true
	return testing.AllocsPerRun(1, func() {
		if first {
			first = false
			return
		}
		f()
	})
}

// steady keeps the garbage collector from emptying the library's pools while a test counts, and the
// test on one processor, since a sync.Pool makes a list for each.
func steady(t *testing.T) {
	t.Helper()
	percent, procs := debug.SetGCPercent(-1), runtime.GOMAXPROCS(1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
	})
}

// pass sends pages there and back.
func pass(enc *Encoder, dec *Decoder, object, page []byte, pages [][]byte) error {
	for _, src := range pages {
		n, err := enc.Compress(object, src)
		if err != nil {
			return err
		}
		if err := dec.Decompress(page, object[:n]); err != nil {
			return err
		}
	}
	return nil
}

// Nothing is allocated from the first page on. The runtime's own goroutines allocate now and then
// and are counted too, so a count that is not zero is taken again with a new pair.
func TestPagesAllocateNothing(t *testing.T) {
	for level, share := range map[int]int{1: 1, 3: 1, 6: 1, 19: 10} {
		t.Run(fmt.Sprint("level", level), func(t *testing.T) {
			steady(t)
			base := demanding()
			base = base[:len(base)/share]
			object, page := make([]byte, MaxObject), make([]byte, MaxSize)
			for range 3 {
				enc, dec := newPair(t, level)
				var err error
				allocs := countAllocs(func() { err = pass(enc, dec, object, page, base) })
				if err != nil {
					t.Fatal(err)
				}
				if allocs == 0 {
					return
				}
				t.Logf("%v allocations in %d pages", allocs, len(base))
			}
			t.Error("pages allocate")
		})
	}
}

// The package comment is right about the library's pools: two collections while no page uses a
// decoder's tables empty them, and they are made anew once.
func TestAllocationsAfterCollection(t *testing.T) {
	steady(t)
	enc, dec := newPair(t, 1)
	object, page := make([]byte, MaxObject), make([]byte, MaxSize)
	base := demanding()
	if err := pass(enc, dec, object, page, [][]byte{make([]byte, MaxSize)}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := pass(enc, dec, object, page, base)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	count, bytes := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	t.Logf("%d allocations of %d bytes together in %d pages", count, bytes, len(base))
	if count > 20 || bytes > 32<<10 {
		t.Errorf("%d allocations of %d bytes together", count, bytes)
	}
}

// Nor does a dictionary make it.
func TestDictionaryAllocatesNothing(t *testing.T) {
	steady(t)
	base := demanding()
	for _, level := range []int{1, 3, 6} {
		t.Run(fmt.Sprint("level", level), func(t *testing.T) {
			enc, dec := newDictPair(t, level, trained(t, codectest.Generated()[:500]))
			object, page := make([]byte, MaxObject), make([]byte, MaxSize)
			i := 0
			allocs := testing.AllocsPerRun(len(base), func() {
				n, err := enc.Compress(object, base[i%len(base)])
				if err != nil {
					t.Fatal(err)
				}
				if err := dec.DecompressDictionary(page, object[:n]); err != nil {
					t.Fatal(err)
				}
				i++
			})
			if allocs != 0 {
				t.Errorf("%v allocations a page", allocs)
			}
		})
	}
}
