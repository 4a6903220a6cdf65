// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// Page and object lie against inaccessible pages on both sides, so that a read or write one byte
// outside ends the test. Neither the compiler's bounds checks nor the race detector see what
// assembly does.
func TestF014BetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, Size)
	backEnd, backStart := codectest.Guarded(t, Size)
	memoryEnd, memoryStart := codectest.Guarded(t, 2*Size)
	eachCoding(t, func(t *testing.T, p coding) {
		for i, base := range codectest.Generated()[:2000/codectest.Stride()] {
			object := objectBy(t, p.enc, base)
			// The destination is exactly as long as it needs to be, or one byte shorter.
			for _, short := range []int{0, 1, 50} {
				size := max(len(object)-short, 0)
				for j, dst := range [][]byte{memoryEnd[len(memoryEnd)-size:], memoryStart[:size]} {
					page := [][]byte{pageEnd, pageStart}[j]
					copy(page, base)
					m, err := p.enc.Compress(dst, page)
					if err != nil || short > 0 && m != 0 || short == 0 && !bytes.Equal(dst[:m], object) {
						t.Fatalf("page %d: %d bytes in a space of %d: %v", i, m, size, err)
					}
				}
			}
			if object == nil {
				continue
			}
			for _, src := range [][]byte{memoryEnd[len(memoryEnd)-len(object):], memoryStart[:len(object)]} {
				copy(src, object)
				for _, back := range [][]byte{backEnd, backStart} {
					if err := p.dec.Decompress(back, src); err != nil || !bytes.Equal(back, base) {
						t.Fatalf("page %d: came back different: %v", i, err)
					}
				}
			}
		}
	})
}

// A guarded holds objects and pages against inaccessible memory.
type guarded struct {
	memoryEnd, memoryStart, backEnd, backStart []byte
}

func newGuarded(t *testing.T) guarded {
	var g guarded
	g.memoryEnd, g.memoryStart = codectest.Guarded(t, 2*Size)
	g.backEnd, g.backStart = codectest.Guarded(t, Size)
	return g
}

// decompress takes an object at the end and at the start of memory to a page at the end and at the
// start of memory. Whether that is taken must not depend on where they lie.
func (g *guarded) decompress(t *testing.T, dec decoder, object []byte) bool {
	t.Helper()
	end, start := g.memoryEnd[len(g.memoryEnd)-len(object):], g.memoryStart[:len(object)]
	copy(end, object)
	copy(start, object)
	first := dec.Decompress(g.backEnd, end)
	second := dec.Decompress(g.backStart, start)
	if (first == nil) != (second == nil) || first == nil && !bytes.Equal(g.backEnd, g.backStart) {
		t.Fatalf("at the end of memory: %v, at its start: %v, or other bytes: object %x", first, second, object)
	}
	return first == nil
}

// Damaged and cut objects keep inside as well, whichever end of them lies against an inaccessible
// page.
func TestF014HostileBetweenGuardPages(t *testing.T) {
	g := newGuarded(t)
	eachCoding(t, func(t *testing.T, p coding) {
		var seen verdicts
		for _, object := range p.some(t, 12) {
			for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
				object[bit/8] ^= 1 << (bit % 8)
				seen.count(g.decompress(t, p.dec, object))
				object[bit/8] ^= 1 << (bit % 8)
			}
			for n := range object {
				if g.decompress(t, p.dec, object[:n]) {
					t.Fatalf("an object cut to %d bytes was read", n)
				}
			}
		}
		seen.mustBeBoth(t)
	})
}

// Objects made to be awkward, and parts of them before which and behind which there is nothing.
func TestF014MadeObjectsBetweenGuardPages(t *testing.T) {
	g := newGuarded(t)
	rng := newRand(12)
	eachPair(t, func(t *testing.T, p pair) {
		var seen verdicts
		for i := range 20_000 / codectest.Stride() {
			object := madeObject(uint64(i))
			if len(object) > 2*Size {
				continue
			}
			seen.count(g.decompress(t, p.dec, object))
			cut := object[:rng.IntN(len(object))]
			if len(cut) > 0 {
				cut[rng.IntN(len(cut))] = byte(rng.Uint32())
			}
			g.decompress(t, p.dec, cut)
		}
		seen.mustBeBoth(t)
		for _, c := range craftedObjects {
			if valid := g.decompress(t, p.dec, c.object()); valid != c.valid {
				t.Errorf("%s: valid is %v, want %v", c.name, valid, c.valid)
			}
		}
	})
}

func TestF014NoiseBetweenGuardPages(t *testing.T) {
	g := newGuarded(t)
	rng := newRand(10)
	noise := make([]byte, Size)
	eachPair(t, func(t *testing.T, p pair) {
		for i := range 50_000 / codectest.Stride() {
			n := 3 + rng.IntN([]int{10, 100, Size - 3}[i%3])
			for j := range noise[:n] {
				noise[j] = byte(rng.Uint32())
			}
			if i%4 > 0 { // counts that there is room for
				literals := rng.IntN(n - 2)
				counts := literals | rng.IntN(n-2-literals)<<12
				noise[0], noise[1], noise[2] = byte(counts), byte(counts>>8), byte(counts>>16)
			}
			g.decompress(t, p.dec, noise[:n])
		}
	})
}
