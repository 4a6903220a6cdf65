// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

func TestF010TruncationIsDetected(t *testing.T) {
	page := make([]byte, MaxSize)
	eachRoutines(t, func(t *testing.T, r routines) {
		dec := Decoder{decode: r.decode}
		for i, object := range objects(t, 40) {
			for n := i % codectest.Stride(); n < len(object); n += codectest.Stride() {
				if err := dec.Decompress(page, object[:n]); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("object %d cut from %d to %d bytes: got %v", i, len(object), n, err)
				}
			}
		}
	})
}

// F009 at this level: a flipped bit may pass, the store's checksum is what sees it. All decoders
// say of it what the format says.
func TestF009BitFlipsAreJudgedAlike(t *testing.T) {
	counts := map[verdict]int{}
	for _, object := range objects(t, 5) {
		for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
			object[bit/8] ^= 1 << (bit % 8)
			counts[judge(t, MaxSize, object)]++
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	if counts[valid] == 0 || counts[broken] == 0 {
		t.Errorf("%v: the test proves nothing", counts)
	}
}

// Blocks with everything that the format allows, which encoders seldom make, and with one thing
// that it does not.
func TestMadeBlocksAreJudgedAlike(t *testing.T) {
	counts := map[verdict]int{}
	for i := range 300_000 / codectest.Stride() {
		object, size := madeBlock(uint64(i))
		counts[judge(t, size, object)]++
	}
	if counts[valid] == 0 || counts[broken] == 0 || counts[overended] == 0 {
		t.Errorf("%v: the test proves nothing", counts)
	}
}

// Every distance with every short length, for the decoders have many ways to copy.
func TestEveryDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for distance := 1; distance <= 300; distance++ {
		for match := 4; match < 90; match += 1 + match/40 {
			object := putLiterals(nil, 300, match-4, rng)
			object = append(object, byte(distance), byte(distance>>8))
			object = putLength(object, match-4)
			for _, last := range []int{5, 30, 100} {
				if judge(t, 300+match+last, putLiterals(bytes.Clone(object), last, 0, rng)) != valid {
					t.Fatalf("distance %d, length %d: refused", distance, match)
				}
			}
		}
	}
}

// Lengths of literals and matches over all of a page.
func TestEveryLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for n := 4; n <= MaxSize-6; n += codectest.Stride() {
		for _, distance := range []int{1, 1 + n%7} {
			literals := max(distance, MaxSize-n-5-n%3)
			object := putLiterals(nil, literals, n-4, rng)
			object = append(object, byte(distance), byte(distance>>8))
			object = putLiterals(putLength(object, n-4), 5, 0, rng)
			if size := literals + n + 5; size <= MaxSize && judge(t, size, object) != valid {
				t.Fatalf("%d literals and a match of %d: refused", literals, n)
			}
		}
	}
}
