// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

// slowHash is the definition, lane by lane.
func slowHash(data []byte) uint64 {
	zeros := -len(data) & (rowBytes - 1)
	data = append(slices.Clip(data), make([]byte, zeros)...)
	var sum uint64
	for lane := range 32 {
		h := uint64(lane+1) * hashSeed
		for row := range len(data) / 512 {
			for word := range 2 {
				h = (h ^ binary.LittleEndian.Uint64(data[512*row+16*lane+8*word:])) * hashFactor
				h ^= h >> 32
			}
		}
		for range 2 {
			h *= hashFactor
			h ^= h >> 32
		}
		sum += h
	}
	sum = (sum ^ uint64(zeros)) * hashFactor
	return sum ^ sum>>32
}

// eachHash runs f as a subtest for each implementation that this machine can run.
func eachHash(t *testing.T, f func(t *testing.T, hash hashFunc)) {
	t.Helper()
	codectest.EachEntry(t, hashTable, func(t *testing.T, e impl.Entry[hashFunc]) { f(t, e.F) })
}

func TestHashIsAsDefined(t *testing.T) {
	eachHash(t, func(t *testing.T, hash hashFunc) {
		for at, all := 0, generated(); at < len(all); at += codec.PageSize {
			page := all[at : at+codec.PageSize]
			if got, want := hash(page), slowHash(page); got != want {
				t.Fatalf("page %d: %x, want %x", at/codec.PageSize, got, want)
			}
		}
		// The value of a page of zeros, for other implementations.
		if got := hash(make([]byte, codec.PageSize)); got != zeroHash {
			t.Errorf("zeros: %#x", got)
		}
	})
}

const zeroHash = 0x02f6860d74caba45

// Every single bit counts, any two of the last row do not cancel each other, and no two of many
// pages have the same hash.
func TestHashTellsPagesApart(t *testing.T) {
	page := somePages(1)
	seen := map[uint64]bool{}
	see := func(page []byte, what ...int) {
		t.Helper()
		h := Hash(page)
		if seen[h] {
			t.Fatalf("%v: %x again", what, h)
		}
		seen[h] = true
	}
	flip := func(bit int) { page[bit/8] ^= 1 << (bit % 8) }
	see(page)
	for bit := range 8 * codec.PageSize {
		flip(bit)
		see(page, bit)
		flip(bit)
	}
	for lane := range hashLanes - 1 {
		for other := lane + 1; other < hashLanes; other++ {
			for bit := 64; bit < 128; bit++ {
				last := 8 * (codec.PageSize - rowBytes)
				one, two := last+128*lane+bit, last+128*other+bit
				flip(one)
				flip(two)
				see(page, one, two)
				flip(one)
				flip(two)
			}
		}
	}
	for at, all := codec.PageSize, generated(); at < len(all); at += codec.PageSize {
		see(all[at:at+codec.PageSize], at)
	}
}

// F021: pages and all shorter data, at any address (F024).
func TestF021AVX2EqualsGenericHash(t *testing.T) {
	require.Instructions(t, string(impl.AVX2), impl.Has(impl.AVX2))
	avx2, err := hashTable.For(impl.AVX2)
	if err != nil {
		t.Fatal(err)
	}
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		rng := rand.New(rand.NewPCG(1, 2))
		memory := make([]byte, 2*codec.PageSize)
		for i := range codectest.Rounds() {
			page := memory[rng.IntN(64):][:codec.PageSize]
			codectest.Derive(page, base, i)
			data := page[:min(i%(2*codec.PageSize), codec.PageSize)]
			if got, want := avx2.F(data), hashGeneric(data); got != want || want != slowHash(data) {
				t.Fatalf("page %d, %d bytes: %x, the generic code has %x, want %x", i, len(data), got, want, slowHash(data))
			}
		}
	})
}

// BenchmarkHash measures a page and an object of usual length: in the nearest cache, in order in
// 1 GiB that no cache holds, and scattered there.
func BenchmarkHash(b *testing.B) {
	memory := make([]byte, 1<<30+codec.PageSize)
	for at := 0; at < len(memory); at += codec.PageSize {
		copy(memory[at:], generated()[:codec.PageSize])
	}
	for _, size := range []int{codec.PageSize, 1504} {
		for i, where := range []string{"near", "in order", "scattered"} {
			distance := []int{0, size, 100_003 * codec.PageSize}[i] // a prime, so that all pages come
			for _, e := range hashTable {
				b.Run(fmt.Sprintf("%d/%s/%s", size, where, e.Set), func(b *testing.B) {
					b.SetBytes(int64(size))
					for at := 0; b.Loop(); at = (at + distance) % (1 << 30) {
						e.F(memory[at:][:size])
					}
				})
			}
		}
	}
}
