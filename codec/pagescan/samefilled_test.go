// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// repeated returns n bytes of a repeated word.
func repeated(word uint64, n int) []byte {
	page := make([]byte, n)
	for at := 0; at+8 <= n; at += 8 {
		binary.LittleEndian.PutUint64(page[at:], word)
	}
	return page
}

func TestSameFilledFindsTheWord(t *testing.T) {
	for _, want := range []uint64{0, 1, 0x0102030405060708, 0x8000000000000000, ^uint64(0)} {
		for _, n := range []int{8, 16, 56, 64, 72, 128, 1000, 4088, 4096} {
			word, ok := SameFilled(repeated(want, n))
			if !ok || word != want {
				t.Errorf("%d bytes of %#x: got %#x, %v", n, want, word, ok)
			}
		}
	}
}

func TestSameFilledSeesEveryBit(t *testing.T) {
	page := repeated(0x0102030405060708, 4096)
	for bit := range len(page) * 8 {
		page[bit/8] ^= 1 << (bit % 8)
		if word, ok := SameFilled(page); ok {
			t.Fatalf("bit %d flipped: still same-filled with %#x", bit, word)
		}
		page[bit/8] ^= 1 << (bit % 8)
	}
	if _, ok := SameFilled(page); !ok {
		t.Fatal("the page is no longer what it was")
	}
}

// A repeated unit that is not 8 bytes long, or not in step with them, is no word.
func TestSameFilledWantsWholeWords(t *testing.T) {
	page := make([]byte, 4096)
	for i := range page {
		page[i] = byte(i % 16)
	}
	if _, ok := SameFilled(page); ok {
		t.Error("16 bytes repeated were taken for a word")
	}
	for i := range page {
		page[i] = byte(i % 4)
	}
	if word, ok := SameFilled(page); !ok || word != 0x0302010003020100 {
		t.Errorf("4 bytes repeated: got %#x, %v", word, ok)
	}
}

func TestSameFilledRefusesOtherLengths(t *testing.T) {
	for _, n := range []int{0, 1, 7, 9, 63, 4095} {
		if _, ok := SameFilled(make([]byte, n)); ok {
			t.Errorf("%d bytes were taken for words", n)
		}
	}
}

// naive is the definition, byte by byte.
func naive(page []byte) bool {
	for i := range page {
		if page[i] != page[i%8] {
			return false
		}
	}
	return true
}

func TestSameFilledAgreesWithDefinition(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		found := 0
		for i, page := range base {
			_, ok := SameFilled(page)
			if ok != naive(page) {
				t.Fatalf("page %d: got %v", i, ok)
			}
			if ok {
				found++
			}
		}
		if found == 0 || found == len(base) {
			t.Errorf("%d of %d pages are same-filled: the pages prove nothing", found, len(base))
		}
	})
}

// F024: a page may lie at any address.
func TestF024SameFilledUnaligned(t *testing.T) {
	memory := make([]byte, 4096+16)
	rng := rand.New(rand.NewPCG(1, 1))
	for shift := range 16 {
		page := memory[shift : shift+4096]
		want := rng.Uint64()
		copy(page, repeated(want, len(page)))
		if word, ok := SameFilled(page); !ok || word != want {
			t.Errorf("shift %d: got %#x, %v", shift, word, ok)
		}
	}
}
