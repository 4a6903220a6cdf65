// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// slowHash is the definition, lane by lane.
func slowHash(page []byte) uint64 {
	var sum uint64
	for lane := range 32 {
		h := uint64(lane+1) * hashSeed
		for row := range codec.PageSize / 512 {
			for word := range 2 {
				h = (h ^ binary.LittleEndian.Uint64(page[512*row+16*lane+8*word:])) * hashFactor
				h ^= h >> 32
			}
		}
		for range 2 {
			h *= hashFactor
			h ^= h >> 32
		}
		sum += h
	}
	sum *= hashFactor
	return sum ^ sum>>32
}

func TestHashIsAsDefined(t *testing.T) {
	for at, all := 0, generated(); at < len(all); at += codec.PageSize {
		page := all[at : at+codec.PageSize]
		if got, want := Hash(page), slowHash(page); got != want {
			t.Fatalf("page %d: %x, want %x", at/codec.PageSize, got, want)
		}
	}
	// The value of a page of zeros, for other implementations.
	if got := Hash(make([]byte, codec.PageSize)); got != zeroHash {
		t.Errorf("zeros: %#x", got)
	}
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

func BenchmarkHash(b *testing.B) {
	page := somePages(1)
	b.SetBytes(codec.PageSize)
	for b.Loop() {
		Hash(page)
	}
}
