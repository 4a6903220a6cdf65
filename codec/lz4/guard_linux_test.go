// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// Source and destination lie against inaccessible pages on both sides, so that a read or write one
// byte outside ends the test. Neither the compiler's bounds checks nor the race detector see what
// assembly does.
func TestF014BetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, MaxSize)
	backEnd, backStart := codectest.Guarded(t, MaxSize)
	memoryEnd, memoryStart := codectest.Guarded(t, 2*MaxSize)
	object := make([]byte, MaxObject)
	eachEncoding(t, func(t *testing.T, encode encodeFunc, decode decodeFunc) {
		var tab table
		for i, base := range codectest.Generated()[:2000] {
			n := encode(object, base, &tab)
			// The destination is exactly as long as it needs to be, or one byte shorter.
			for _, short := range []int{0, 1, 50} {
				size := max(n-short, 0)
				for j, dst := range [][]byte{memoryEnd[len(memoryEnd)-size:], memoryStart[:size]} {
					page := [][]byte{pageEnd, pageStart}[j]
					copy(page, base)
					if m := encode(dst, page, &tab); short > 0 && m != 0 || short == 0 && !bytes.Equal(dst[:m], object[:n]) {
						t.Fatalf("page %d: %d bytes in a space of %d", i, m, size)
					}
				}
			}
			for _, src := range [][]byte{memoryEnd[len(memoryEnd)-n:], memoryStart[:n]} {
				copy(src, object)
				for _, back := range [][]byte{backEnd, backStart} {
					if !decode(back, src) || !bytes.Equal(back, base) {
						t.Fatalf("page %d: came back different", i)
					}
				}
			}
		}
	})
}

// Damaged and cut objects keep inside as well, whichever end of them lies against an inaccessible
// page.
func TestF014HostileBetweenGuardPages(t *testing.T) {
	backEnd, backStart := codectest.Guarded(t, MaxSize)
	memory, first := codectest.Guarded(t, 2*MaxSize)
	eachRoutines(t, func(t *testing.T, r routines) {
		refused := 0
		for _, object := range objects(t, 12) {
			flush, start := memory[len(memory)-len(object):], first[:len(object)]
			copy(flush, object)
			copy(start, object)
			for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
				flush[bit/8] ^= 1 << (bit % 8)
				start[bit/8] ^= 1 << (bit % 8)
				taken := r.decode(backEnd, flush)
				if r.decode(backStart, start) != taken {
					t.Fatalf("bit %d: the same object is taken in one place and refused in another", bit)
				}
				if !taken {
					refused++
				}
				flush[bit/8] ^= 1 << (bit % 8)
				start[bit/8] ^= 1 << (bit % 8)
			}
			for n := range object {
				cut := memory[len(memory)-n:]
				copy(cut, object[:n])
				if r.decode(backEnd, cut) || r.decode(backStart, start[:n]) {
					t.Fatalf("an object cut to %d bytes was read", n)
				}
			}
		}
		if refused == 0 {
			t.Error("no damaged object was refused")
		}
	})
}

func TestF014NoiseBetweenGuardPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	backEnd, backStart := codectest.Guarded(t, MaxSize)
	memory, _ := codectest.Guarded(t, MaxSize)
	eachRoutines(t, func(t *testing.T, r routines) {
		for i := range 20_000 / codectest.Stride() {
			noise := memory[rng.IntN(len(memory)+1):]
			for j := range noise {
				noise[j] = byte(rng.Uint32())
			}
			// Noise that is a block of just a page's length would be 1 in thousands of millions.
			if r.decode([][]byte{backEnd, backStart}[i%2], noise) {
				t.Fatal("noise was read")
			}
		}
	})
}

// Blocks made to be awkward, in a space of any length.
func TestF014MadeBlocksBetweenGuardPages(t *testing.T) {
	back, _ := codectest.Guarded(t, MaxSize)
	memory, _ := codectest.Guarded(t, 4*MaxSize)
	eachRoutines(t, func(t *testing.T, r routines) {
		taken := 0
		for i := range 200_000 / codectest.Stride() {
			object, size := madeBlock(uint64(i))
			src := memory[len(memory)-len(object):]
			copy(src, object)
			if r.decode(back[MaxSize-size:], src) {
				taken++
			}
		}
		if taken == 0 {
			t.Error("no block was read")
		}
	})
}

// Short buffers, whose last copies must be narrow.
func TestF014ShortBuffersBetweenGuardPages(t *testing.T) {
	srcMemory, _ := codectest.Guarded(t, MaxSize)
	backMemory, _ := codectest.Guarded(t, MaxSize)
	object, _ := codectest.Guarded(t, MaxObject)
	eachEncoding(t, func(t *testing.T, encode encodeFunc, decode decodeFunc) {
		var tab table
		for n := 1; n <= 600; n++ {
			src, back := srcMemory[MaxSize-n:], backMemory[MaxSize-n:]
			copy(src, codectest.Generated()[n])
			size := encode(object, src, &tab)
			flush := object[MaxObject-size:]
			copy(flush, object[:size])
			if size == 0 || !decode(back, flush) || !bytes.Equal(back, src) {
				t.Fatalf("%d bytes: came back different", n)
			}
		}
	})
}
