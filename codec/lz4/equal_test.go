// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

func TestF021AVX2EqualsGeneric(t *testing.T) { equalsGeneric(t, impl.AVX2) }

func TestF022AVX512EqualsGeneric(t *testing.T) { equalsGeneric(t, impl.AVX512) }

func TestF023NEONEqualsGeneric(t *testing.T) { equalsGeneric(t, impl.NEON) }

// equalsGeneric compares object for object over the stream of pages, a million in all, at caps that
// some of them do not fit in, and lets each side's decoder read what both made. Where nothing was
// written for set, what is taken in its place is compared over fewer pages, for it has a test of
// its own.
func equalsGeneric(t *testing.T, set impl.Set) {
	require.Instructions(t, string(set), impl.Has(set))
	e, err := routinesTable.For(set)
	if err != nil {
		t.Fatal(err)
	}
	rounds := codectest.Rounds() / 2
	if e.Set != set {
		t.Logf("there is no code for %s: that for %s is taken", set, e.Set)
		rounds /= 50
	}
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		equalOver(t, e.F, base, rounds)
	})
}

func equalOver(t *testing.T, r routines, base [][]byte, rounds int) {
	page, back := make([]byte, MaxSize), make([]byte, MaxSize)
	object, want := make([]byte, MaxObject), make([]byte, MaxObject)
	var tab table
	for i := range rounds {
		codectest.Derive(page, base, i)
		limit := MaxObject
		if i%4 == 3 {
			limit = i % MaxSize
		}
		for way, enc := range r.encodings() {
			n := enc.encode(object[:limit], page, &tab)
			m := generic().encodings()[way].encode(want[:limit], page, &tab)
			if !bytes.Equal(object[:n], want[:m]) {
				t.Fatalf("page %d, %s, cap %d: %d bytes, and %d by the generic encoder, or other bytes", i, enc.name, limit, n, m)
			}
			// Each decoder's turn comes with half of the pages: both objects are the same.
			decode := r.decode
			if i%2 == 1 {
				decode = decodeGeneric
			}
			if n > 0 && (!decode(back, object[:n]) || !bytes.Equal(back, page)) {
				t.Fatalf("page %d, %s: did not come back", i, enc.name)
			}
		}
	}
}

// F016 and F018: an encoder that has seen other pages, or whose table holds anything at all, gives
// the same object as one that has seen none.
func TestF016NoStateBetweenPages(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachEncoding(t, func(t *testing.T, encode encodeFunc, _ decodeFunc) {
			used := Encoder{encode: encode}
			for i := range used.table {
				used.table[i] = 0xFFFF
			}
			page := make([]byte, MaxSize)
			object, want := make([]byte, MaxObject), make([]byte, MaxObject)
			for i := range codectest.Rounds() / 100 {
				codectest.Derive(page, base, i)
				limit := MaxObject
				if i%3 == 0 {
					limit = 500 // gives up half-way and must leave nothing behind
				}
				fresh := Encoder{encode: encode}
				n, err := used.Compress(object[:limit], page)
				if err != nil {
					t.Fatal(err)
				}
				m, err := fresh.Compress(want[:limit], page)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(object[:n], want[:m]) {
					t.Fatalf("page %d: %d bytes from a used encoder, %d from a fresh one, or other bytes", i, n, m)
				}
			}
		})
	})
}

// An object does not depend on what lies around the page, nor on what dst held.
func TestF018SameInputSameOutput(t *testing.T) {
	eachEncoding(t, func(t *testing.T, encode encodeFunc, _ decodeFunc) {
		var tab table
		want, object := make([]byte, MaxObject), make([]byte, MaxObject)
		memory := make([]byte, 3*MaxSize)
		for i, page := range codectest.Generated()[:500] {
			n := encode(want, page, &tab)
			for _, filler := range []byte{0, 0xFF, page[0], page[MaxSize-1]} {
				for j := range memory {
					memory[j] = filler
				}
				for j := range object {
					object[j] = filler
				}
				m := encode(object, memory[MaxSize:][:copy(memory[MaxSize:], page)], &tab)
				if !bytes.Equal(object[:m], want[:n]) {
					t.Fatalf("page %d: other bytes", i)
				}
			}
		}
	})
}

func TestF024Unaligned(t *testing.T) {
	memory, space, room := make([]byte, MaxSize+64), make([]byte, MaxObject+64), make([]byte, MaxSize+64)
	want := make([]byte, MaxObject)
	eachEncoding(t, func(t *testing.T, encode encodeFunc, decode decodeFunc) {
		var tab table
		for i, page := range codectest.Generated()[:20] {
			n := encode(want, page, &tab)
			for shift := range 64 {
				src, dst, back := memory[shift:][:MaxSize], space[(shift*7)%64:][:MaxObject], room[(shift*13)%64:][:MaxSize]
				copy(src, page)
				m := encode(dst, src, &tab)
				if !bytes.Equal(dst[:m], want[:n]) || !decode(back, dst[:m]) || !bytes.Equal(back, page) {
					t.Fatalf("page %d at address %d of 64: other bytes", i, shift)
				}
			}
		}
	})
}
