// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
	"github.com/zramfs/zramfs/internal/require"
)

func TestF021AVX2EqualsGenericDense(t *testing.T) { denseEqualsGeneric(t, impl.AVX2) }

func TestF022AVX512EqualsGenericDense(t *testing.T) { denseEqualsGeneric(t, impl.AVX512) }

func TestF023NEONEqualsGenericDense(t *testing.T) { denseEqualsGeneric(t, impl.NEON) }

// denseEqualsGeneric compares object for object over the stream of pages, at caps that some of them
// do not fit in, and lets each side's decoder read what both made. Where nothing was written for
// set, what is taken in its place is compared over fewer pages, for it has a test of its own.
func denseEqualsGeneric(t *testing.T, set impl.Set) {
	require.Instructions(t, string(set), impl.Has(set))
	e, err := denseTable.For(set)
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
		denseEqualOver(t, newDensePair(t, e.Set), base, rounds)
	})
}

func denseEqualOver(t *testing.T, p densePair, base [][]byte, rounds int) {
	generic := newDensePair(t, impl.Generic)
	page, back := make([]byte, Size), make([]byte, Size)
	object, want := make([]byte, Size), make([]byte, Size)
	for i := range rounds {
		codectest.Derive(page, base, i)
		limit := Size
		if i%4 == 3 {
			limit = i % Size
		}
		n, err := p.enc.Compress(object[:limit], page)
		if err != nil {
			t.Fatal(err)
		}
		m, err := generic.enc.Compress(want[:limit], page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(object[:n], want[:m]) {
			t.Fatalf("page %d, cap %d: %d bytes, and %d by the generic encoder, or other bytes", i, limit, n, m)
		}
		// Each decoder's turn comes with half of the pages: both objects are the same.
		dec := []*DenseDecoder{p.dec, generic.dec}[i%2]
		if n == 0 {
			continue
		}
		if err := dec.Decompress(back, object[:n]); err != nil || !bytes.Equal(back, page) {
			t.Fatalf("page %d: did not come back: %v", i, err)
		}
	}
}

// F016 and F018: an encoder that has seen other pages gives the same object as one that has seen
// none, and a decoder that has seen other objects, damaged ones among them, the same page.
func TestF016NoStateBetweenDensePages(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachDensePair(t, func(t *testing.T, used densePair) {
			page, back := make([]byte, Size), make([]byte, Size)
			for i := range codectest.Rounds() / 200 {
				codectest.Derive(page, base, i)
				if i%3 == 0 { // gives up and must leave nothing behind
					if _, err := used.enc.Compress(nil, base[(i+1)%len(base)]); err != nil {
						t.Fatal(err)
					}
				}
				fresh := newDensePair(t, used.set)
				got, want := used.object(t, page), fresh.object(t, page)
				if !bytes.Equal(got, want) {
					t.Fatalf("page %d: %d bytes from a used encoder, %d from a fresh one, or other bytes", i, len(got), len(want))
				}
				if got == nil {
					continue
				}
				got[i%len(got)] ^= 1 << (i % 8)
				first := used.dec.Decompress(back, got)
				if second := fresh.dec.Decompress(back, got); (first == nil) != (second == nil) {
					t.Fatalf("page %d, damaged: %v from a used decoder, %v from a fresh one", i, first, second)
				}
				if err := used.dec.Decompress(back, want); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("page %d: did not come back: %v", i, err)
				}
			}
		})
	})
}

// An object depends neither on what dst held, nor on what the encoder's streams and lanes held.
func TestF018SameInputSameDenseOutput(t *testing.T) {
	eachDensePair(t, func(t *testing.T, p densePair) {
		object := make([]byte, Size)
		for i, page := range codectest.Generated()[:150] {
			want := p.object(t, page)
			for _, filler := range []byte{0, 0xFF, page[0], page[Size-1]} {
				fill(object, filler)
				for _, stream := range [][]byte{p.enc.literalStream[:], p.enc.tokenStream[:], p.enc.nearStream[:], p.enc.farStream[:], p.enc.often[:]} {
					fill(stream, filler)
				}
				for j := range p.enc.writers {
					fill(p.enc.writers[j].bytes[:], filler)
				}
				n, err := p.enc.Compress(object, page)
				if err != nil || !bytes.Equal(object[:n], want) {
					t.Fatalf("page %d: other bytes, or %v", i, err)
				}
			}
		}
	})
}

func TestF024UnalignedDense(t *testing.T) {
	memory, space, room := make([]byte, Size+64), make([]byte, Size+64), make([]byte, Size+64)
	eachDensePair(t, func(t *testing.T, p densePair) {
		for i, page := range codectest.Generated()[:20] {
			want := p.object(t, page)
			for shift := range 64 {
				src, dst, back := memory[shift:][:Size], space[(shift*7)%64:][:Size], room[(shift*13)%64:][:Size]
				copy(src, page)
				n, err := p.enc.Compress(dst, src)
				if err != nil || !bytes.Equal(dst[:n], want) {
					t.Fatalf("page %d at address %d of 64: other bytes, or %v", i, shift, err)
				}
				if err := p.dec.Decompress(back, dst[:n]); n > 0 && (err != nil || !bytes.Equal(back, page)) {
					t.Fatalf("page %d at address %d of 64: did not come back: %v", i, shift, err)
				}
			}
		}
	})
}
