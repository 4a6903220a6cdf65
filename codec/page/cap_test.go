// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// The length of dst is an exact cap: with the object's own length it fits, and is the same object;
// with less it does not. Every cap, for a few pages; with -short some, others for each page, and
// those about the object's length.
func TestEveryCap(t *testing.T) {
	capped := make([]byte, Size+100)
	eachCoding(t, func(t *testing.T, p coding) {
		for i, page := range codectest.Generated()[:12] {
			object := objectBy(t, p.enc, page)
			for limit := range len(capped) + 1 {
				if (limit-i)%codectest.Stride() != 0 && max(limit-len(object), len(object)-limit) > 1 {
					continue
				}
				n, err := p.enc.Compress(capped[:limit], page)
				if err != nil || limit < len(object) && n != 0 || limit >= len(object) && !bytes.Equal(capped[:n], object) {
					t.Fatalf("page %d: object of %d bytes gave %d bytes with a cap of %d: %v", i, len(object), n, limit, err)
				}
			}
		}
	})
}

// An object that does not fit must not be written into the capacity behind dst either.
func TestCapKeepsWhatIsBehind(t *testing.T) {
	memory := make([]byte, 2*Size)
	eachCoding(t, func(t *testing.T, p coding) {
		for _, limit := range []int{0, 1, 2, 3, 4, 5, 6, 63, 64, 65, 100, 1000, 3072, 3840, MaxObject, Size} {
			fill(memory, 0xA5)
			fitted := 0
			for _, page := range codectest.Generated()[:300] {
				n, err := p.enc.Compress(memory[:limit], page)
				if err != nil {
					t.Fatal(err)
				}
				if n > 0 {
					fitted++
				}
			}
			if got := bytes.Count(memory[limit:], []byte{0xA5}); got != len(memory)-limit {
				t.Errorf("cap %d: %d bytes behind it were changed", limit, len(memory)-limit-got)
			}
			if fitted == 0 && limit > 1000 {
				t.Errorf("cap %d: no page fitted", limit)
			}
		}
	})
}

// However much room there is, no object is longer than MaxObject. The pages have more and more that
// repeats, so that the objects of some are just shorter than that.
func TestObjectsAreShorterThanPages(t *testing.T) {
	page, object, noise := make([]byte, Size), make([]byte, 2*Size), make([]byte, Size)
	rng := newRand(11)
	eachCoding(t, func(t *testing.T, p coding) {
		longest := 0
		for i := range 4000 / codectest.Stride() {
			if i%400 == 0 { // others now and then
				for j := range noise {
					noise[j] = byte(rng.Uint32())
				}
			}
			copy(page, noise)
			at := rng.IntN(Size - 400)
			fill(page[at:at+i%400], page[at])
			n, err := p.enc.Compress(object, page)
			if err != nil || n > MaxObject {
				t.Fatalf("%d bytes, %v", n, err)
			}
			if n > 0 && !p.judge(t, object[:n]) {
				t.Fatal("an object of ours is refused")
			}
			longest = max(longest, n)
		}
		if longest < MaxObject-40 {
			t.Errorf("the longest object has %d bytes: the test proves nothing", longest)
		}
	})
}

// A nil slice lies at address 0, where limits computed from it would wrap around.
func TestNilBuffers(t *testing.T) {
	eachCoding(t, func(t *testing.T, p coding) {
		if n, err := p.enc.Compress(nil, codectest.Generated()[0]); n != 0 || err != nil {
			t.Errorf("%d bytes in no buffer, %v", n, err)
		}
		if err := p.dec.Decompress(make([]byte, Size), nil); err == nil {
			t.Error("an object of no bytes was read")
		}
	})
}
