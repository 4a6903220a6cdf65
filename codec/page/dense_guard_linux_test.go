// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// Page and object lie against inaccessible pages on both sides, so that a read or write one byte
// outside ends the test. Neither the compiler's bounds checks nor the race detector see what
// assembly does.
func TestF014DenseBetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, Size)
	backEnd, backStart := codectest.Guarded(t, Size)
	memoryEnd, memoryStart := codectest.Guarded(t, 2*Size)
	eachDensePair(t, func(t *testing.T, p densePair) {
		for i, base := range codectest.Generated()[:600] {
			object := p.object(t, base)
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

// decompressDense is decompress for a dense object.
func (g *guarded) decompressDense(t *testing.T, dec *DenseDecoder, object []byte) bool {
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
func TestF014HostileDenseBetweenGuardPages(t *testing.T) {
	g := newGuarded(t)
	eachDensePair(t, func(t *testing.T, p densePair) {
		var seen verdicts
		for _, object := range denseObjects(t, 5) {
			for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
				object[bit/8] ^= 1 << (bit % 8)
				seen.count(g.decompressDense(t, p.dec, object))
				object[bit/8] ^= 1 << (bit % 8)
			}
			for n := range object {
				if g.decompressDense(t, p.dec, object[:n]) {
					t.Fatalf("an object cut to %d bytes was read", n)
				}
			}
		}
		if seen.broken == 0 {
			t.Error("no damaged object was refused")
		}
	})
}

func TestF014MadeDenseObjectsBetweenGuardPages(t *testing.T) {
	g := newGuarded(t)
	rng := newRand(12)
	eachDensePair(t, func(t *testing.T, p densePair) {
		var seen verdicts
		for i := range 2000 / codectest.Stride() {
			object := madeDenseObject(uint64(i))
			if len(object) > 2*Size {
				continue
			}
			seen.count(g.decompressDense(t, p.dec, object))
			cut := object[:rng.IntN(len(object))]
			if len(cut) > 0 {
				cut[rng.IntN(len(cut))] = byte(rng.Uint32())
			}
			g.decompressDense(t, p.dec, cut)
		}
		seen.mustBeBoth(t)
	})
}

// Noise whose header says as many symbols as can be, so that the lanes run as far beyond the object
// as they can.
func TestF014NoiseBetweenGuardPagesDense(t *testing.T) {
	g := newGuarded(t)
	rng := newRand(10)
	noise := make([]byte, Size)
	eachDensePair(t, func(t *testing.T, p densePair) {
		for i := range 20_000 / codectest.Stride() {
			n := denseHeader + rng.IntN([]int{10, 100, Size - denseHeader}[i%3])
			for j := range noise[:n] {
				noise[j] = byte(rng.Uint32())
			}
			if i%4 > 0 {
				noise[0], noise[1], noise[2] = 0xff, 0xff, 0xff
				noise[4] = byte(rng.IntN(3) - 1)
			}
			if i%4 > 1 { // the longest codes
				fill(noise[denseHeader:n], 0xff)
			}
			g.decompressDense(t, p.dec, noise[:n])
		}
	})
}

// The memory that encoders and decoders work in lies against inaccessible pages too: assembly reads
// and writes there without a look at where it ends.
func TestF014DenseRoomBetweenGuardPages(t *testing.T) {
	encEnd, encStart := codectest.Guarded(t, int(unsafe.Sizeof(DenseEncoder{})))
	decEnd, decStart := codectest.Guarded(t, int(unsafe.Sizeof(DenseDecoder{})))
	object, back := make([]byte, Size), make([]byte, Size)
	rng := newRand(14)
	for i := range denseTable {
		r := &denseTable[i]
		if !impl.Has(r.Set) {
			continue
		}
		for j, memory := range [][]byte{encEnd, encStart} {
			enc := (*DenseEncoder)(unsafe.Pointer(&memory[0]))
			dec := (*DenseDecoder)(unsafe.Pointer(&[][]byte{decEnd, decStart}[j][0]))
			enc.routines, dec.routines = &r.F, &r.F
			for k, page := range codectest.Generated()[:1000] {
				n, err := enc.Compress(object, page)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					continue
				}
				if err := dec.Decompress(back, object[:n]); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("page %d: came back different: %v", k, err)
				}
				object[rng.IntN(n)] ^= 1 << rng.IntN(8)
				_ = dec.Decompress(back, object[:n]) // what it says is not the point here
			}
		}
	}
}
