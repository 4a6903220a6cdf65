// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

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
			seen.count(g.decompress(t, p.dec, object))
			cut := object[:rng.IntN(len(object))]
			if len(cut) > 0 {
				cut[rng.IntN(len(cut))] = byte(rng.Uint32())
			}
			g.decompress(t, p.dec, cut)
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
			g.decompress(t, p.dec, noise[:n])
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
