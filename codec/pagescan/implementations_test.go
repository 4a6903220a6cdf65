// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

// eachRepeats runs f as a subtest for each implementation that this machine can run.
func eachRepeats(t *testing.T, f func(t *testing.T, repeats repeatsFunc)) {
	t.Helper()
	codectest.EachEntry(t, repeatsTable, func(t *testing.T, e impl.Entry[repeatsFunc]) { f(t, e.F) })
}

// eachCount runs f as a subtest for each implementation that this machine can run.
func eachCount(t *testing.T, f func(t *testing.T, count countFunc)) {
	t.Helper()
	codectest.EachEntry(t, countTable, func(t *testing.T, e impl.Entry[countFunc]) { f(t, e.F) })
}

func TestF021AVX2EqualsGeneric(t *testing.T) { equalsGeneric(t, impl.AVX2) }

func TestF022AVX512EqualsGeneric(t *testing.T) { equalsGeneric(t, impl.AVX512) }

func TestF023NEONEqualsGeneric(t *testing.T) { equalsGeneric(t, impl.NEON) }

// equalsGeneric compares answer for answer over the stream of pages. Every fourth page repeats a
// word up to some place, since few of the others keep repeats busy for long.
func equalsGeneric(t *testing.T, set impl.Set) {
	require.Instructions(t, string(set), impl.Has(set))
	repeats, err := repeatsTable.For(set)
	if err != nil {
		t.Fatal(err)
	}
	count, err := countTable.For(set)
	if err != nil {
		t.Fatal(err)
	}
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		page := make([]byte, PageSize)
		same := 0
		for i := range codectest.Rounds() {
			codectest.Derive(page, base, i)
			if got, want := count.F(page), countGeneric(page); got != want {
				t.Fatalf("page %d: counts %#x, want %#x", i, got, want)
			}
			if i%4 == 0 {
				copy(page, repeated(uint64(i), i%(2*PageSize)/wordSize*wordSize))
			}
			word := binary.LittleEndian.Uint64(page)
			want := repeatsGeneric(page, word)
			if got := repeats.F(page, word); got != want {
				t.Fatalf("page %d repeats %#x: got %v, want %v", i, word, got, want)
			}
			if want {
				same++
			}
		}
		if same == 0 {
			t.Error("no page repeats a word: the pages prove nothing")
		}
	})
}

// Every length that a page may have, at every place of a word, with each of its bytes different
// once: no vector of a loop, and nothing between the last whole one and the end, is left out.
func TestRepeatsSeesEveryByteOfEveryLength(t *testing.T) {
	eachRepeats(t, func(t *testing.T, repeats repeatsFunc) {
		const word = 0x0102030405060708
		memory := make([]byte, 1200)
		for n := wordSize; n <= 1100; n += wordSize {
			page := memory[n%64:][:n]
			copy(page, repeated(word, n))
			if !repeats(page, word) {
				t.Fatalf("%d bytes of one word: got false", n)
			}
			for i := range page {
				page[i] ^= 0x10
				if repeats(page, word) {
					t.Fatalf("%d bytes, the one at %d differs: got true", n, i)
				}
				page[i] ^= 0x10
			}
		}
	})
}

// F024: a page may lie at any address.
func TestF024ScansOfUnalignedPages(t *testing.T) {
	base := codectest.Generated()
	memory := make([]byte, PageSize+64)
	eachCount(t, func(t *testing.T, count countFunc) {
		for shift := range 64 {
			page := memory[shift:][:PageSize]
			copy(page, base[shift])
			if got, want := count(page), countGeneric(base[shift]); got != want {
				t.Errorf("shift %d: counts %#x, want %#x", shift, got, want)
			}
		}
	})
	eachRepeats(t, func(t *testing.T, repeats repeatsFunc) {
		for shift := range 64 {
			page := memory[shift:][:PageSize]
			copy(page, repeated(uint64(shift), PageSize))
			if !repeats(page, uint64(shift)) {
				t.Errorf("shift %d: got false", shift)
			}
			page[PageSize-1-shift*61] ^= 1
			if repeats(page, uint64(shift)) {
				t.Errorf("shift %d, a bit flipped: got true", shift)
			}
		}
	})
}
