// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// verdicts counts what judge said. A test of hostile objects proves something only if both
// occurred.
type verdicts struct{ valid, broken int }

func (v *verdicts) count(valid bool) {
	if valid {
		v.valid++
	} else {
		v.broken++
	}
}

func (v *verdicts) mustBeBoth(t *testing.T) {
	t.Helper()
	if v.valid == 0 || v.broken == 0 {
		t.Errorf("%d objects were valid and %d broken: the test proves nothing", v.valid, v.broken)
	}
}

// F009 at this level: a flipped bit may pass, the store's checksum is what sees it. All decoders
// say of it what the format says.
func TestF009BitFlipsAreJudgedAlike(t *testing.T) {
	var seen verdicts
	for _, object := range objects(t, 5) {
		for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
			object[bit/8] ^= 1 << (bit % 8)
			seen.count(judge(t, object))
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	seen.mustBeBoth(t)
}

// F010 at this level: a cut object has no place for its counts, or too few distances; all decoders
// refuse it.
func TestF010TruncationIsDetected(t *testing.T) {
	for i, object := range objects(t, 40) {
		for n := i % codectest.Stride(); n < len(object); n += codectest.Stride() {
			if judge(t, object[:n]) {
				t.Fatalf("object %d cut from %d to %d bytes was read", i, len(object), n)
			}
		}
	}
}

// Real objects with a few bytes changed anywhere, mostly in their tokens and distances.
func TestMutatedObjectsAreJudgedAlike(t *testing.T) {
	rng := newRand(9)
	var seen verdicts
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		p := newPair(t, "")
		for i := range 30_000 / codectest.Stride() {
			object := p.object(t, base[i*13%len(base)])
			if object == nil {
				continue
			}
			s, _ := split(object)
			tail := max(len(s.distances)+len(s.tokens), 1)
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(object))
				if rng.IntN(3) > 0 {
					at = len(object) - 1 - rng.IntN(tail)
				}
				object[at] = byte(rng.Uint32())
			}
			seen.count(judge(t, object))
		}
	})
	seen.mustBeBoth(t)
}

// Objects with everything that the format allows, which our encoder seldom makes, and with one
// thing that it does not.
func TestMadeObjectsAreJudgedAlike(t *testing.T) {
	var seen verdicts
	for i := range 30_000 / codectest.Stride() {
		seen.count(judge(t, madeObject(uint64(i))))
	}
	seen.mustBeBoth(t)
}

// Headers that say anything before bytes that say anything, of any length.
func TestNoiseIsJudgedAlike(t *testing.T) {
	rng := newRand(10)
	noise := make([]byte, Size+10)
	for i := range 200_000 / codectest.Stride() {
		n := rng.IntN([]int{4, 40, 400, len(noise) + 1}[i%4])
		for j := range noise[:min(n, 3)] {
			noise[j] = byte(rng.Uint32())
		}
		for j := 3; j < n; j += 1 + rng.IntN(1+n/16) {
			noise[j] = byte(rng.Uint32())
		}
		if i%2 == 0 && n >= 3 { // counts that there is room for
			literals := rng.IntN(n - 2)
			tokens := rng.IntN(n - 2 - literals)
			counts := literals | tokens<<12
			noise[0], noise[1], noise[2] = byte(counts), byte(counts>>8), byte(counts>>16)
		}
		judge(t, noise[:n])
	}
}
