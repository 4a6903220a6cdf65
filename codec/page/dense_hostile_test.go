// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// F009 at this level: a flipped bit may pass, the store's checksum is what sees it. All decoders
// say of it what the format says.
func TestF009DenseBitFlipsAreJudgedAlike(t *testing.T) {
	var seen verdicts
	for _, object := range denseObjects(t, 5) {
		for bit := 0; bit < len(object)*8; bit += codectest.Stride() {
			object[bit/8] ^= 1 << (bit % 8)
			seen.count(judgeDense(t, object))
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	if seen.broken == 0 {
		t.Errorf("%d objects were valid and none broken: the test proves nothing", seen.valid)
	}
}

// F010 at this level: the lanes of a cut object do not end where they should; all decoders refuse
// it.
func TestF010DenseTruncationIsDetected(t *testing.T) {
	for i, object := range denseObjects(t, 20) {
		for n := i % codectest.Stride(); n < len(object); n += codectest.Stride() {
			if judgeDense(t, object[:n]) {
				t.Fatalf("object %d cut from %d to %d bytes was read", i, len(object), n)
			}
		}
	}
}

// Real objects with a few bytes changed, many of them in the header.
func TestMutatedDenseObjectsAreJudgedAlike(t *testing.T) {
	rng := newRand(9)
	broken := 0
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		p := newDensePair(t, "")
		for i := range 30_000 / codectest.Stride() {
			object := p.object(t, base[i*13%len(base)])
			if object == nil {
				continue
			}
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(object))
				if rng.IntN(3) == 0 {
					at %= 8
				}
				object[at] ^= 1 << rng.IntN(8)
			}
			if !judgeDense(t, object) {
				broken++
			}
		}
	})
	if broken == 0 {
		t.Error("no object was broken: the test proves nothing")
	}
}

// Objects with everything that the format allows, which our encoder seldom makes, and with one
// thing that it does not.
func TestMadeDenseObjectsAreJudgedAlike(t *testing.T) {
	var seen verdicts
	padded := map[int]int{}
	for i := range 4000 / codectest.Stride() {
		object := madeDenseObject(uint64(i))
		valid := judgeDense(t, object)
		seen.count(valid)
		if border := int(int8(object[4])); valid && (border == minBorder || border == maxBorder) {
			padded[border]++
		}
	}
	seen.mustBeBoth(t)
	if len(padded) != 2 && !testing.Short() {
		t.Errorf("%v valid objects with a region that is too large, want some of both", padded)
	}
}

// Headers that say anything before bytes that say anything, of any length.
func TestNoiseIsJudgedAlikeDense(t *testing.T) {
	rng := newRand(10)
	noise := make([]byte, Size+10)
	for i := range 20_000 / codectest.Stride() {
		n := rng.IntN([]int{4, 40, 400, len(noise) + 1}[i%4])
		for j := range noise[:n] {
			noise[j] = byte(rng.Uint32())
		}
		if i%2 == 0 && n >= 5 { // few symbols, and a border between the regions
			counts := rng.IntN(n) | rng.IntN(n)<<12
			noise[0], noise[1], noise[2] = byte(counts), byte(counts>>8), byte(counts>>16)
			noise[4] = byte(rng.IntN(9) - 4)
		}
		judgeDense(t, noise[:n])
	}
}

// unequalPage makes a page of literals: of any four, two are bytes with short codes, and two are
// bytes with long ones.
func unequalPage(page []byte, number int) {
	rng := newRand(uint64(number))
	bytes := make([]byte, 256)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	code := codes[literalSegment][number%3]
	slices.SortFunc(bytes, func(a, b byte) int { return code.length(int(a)) - code.length(int(b)) })
	for i := range page {
		page[i] = bytes[rng.IntN(24)]
		if (i+number)>>1&1 == 0 {
			page[i] = bytes[156+rng.IntN(100)]
		}
	}
}

// Pages whose symbols are dealt to the lanes most unequally: the border cannot say by how much, and
// one region gets more room than it needs.
func TestUnequalLanes(t *testing.T) {
	page, back := make([]byte, Size), make([]byte, Size)
	eachDensePair(t, func(t *testing.T, p densePair) {
		seen := map[int]int{}
		for i := range 400 {
			unequalPage(page, i)
			object := p.object(t, page)
			if object == nil {
				continue
			}
			seen[int(int8(object[4]))]++
			if !judgeDense(t, object) {
				t.Fatalf("page %d: refused", i)
			}
			if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
				t.Fatalf("page %d: did not come back: %v", i, err)
			}
		}
		if seen[minBorder] == 0 || seen[maxBorder] == 0 {
			t.Errorf("%v: the test proves nothing", seen)
		}
	})
}

// The sizes of regions that need any number of bytes are what the border says of them, and no byte
// too much unless it must be.
func TestBorders(t *testing.T) {
	for first := range 1200 {
		for second := range 1200 {
			region0, region1, border := borderOf(first, second)
			if region0 < first || region1 < second || (region0+region1)>>1+border != region0 || border != int(int8(border)) {
				t.Fatalf("%d and %d bytes: regions of %d and %d, border %d", first, second, region0, region1, border)
			}
			if region0 > first && border != minBorder || region1 > second && border != maxBorder {
				t.Fatalf("%d and %d bytes: regions of %d and %d, border %d: too large", first, second, region0, region1, border)
			}
		}
	}
}

// Each token alone, and each with others before and behind it, counts as what it is.
func TestDistancesAreCounted(t *testing.T) {
	for number, token := range tokens {
		nearBytes, farWords := 0, 0
		switch {
		case number >= literalRun || token.kind == near:
			nearBytes = 1
		case token.kind == far:
			farWords = 1
		}
		for n := range 20 {
			list := make([]byte, n+1) // token 0 has neither
			list[n/2] = byte(number)
			if nears, fars := countDistances(list); nears != nearBytes || fars != farWords {
				t.Fatalf("token %d among %d: %d near bytes and %d far words, want %d and %d", number, n, nears, fars, nearBytes, farWords)
			}
		}
	}
}
