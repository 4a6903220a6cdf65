// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// The length of dst is an exact cap: with the object's own length it fits, and is the same object;
// with less it does not.
func TestCapIsExact(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachEncoding(t, func(t *testing.T, encode encodeFunc, _ decodeFunc) {
			enc := Encoder{encode: encode}
			object, capped := make([]byte, MaxObject), make([]byte, MaxObject)
			tried := 0
			for i := 0; i < len(base); i += 7 * codectest.Stride() {
				full, err := enc.Compress(object, base[i])
				if err != nil {
					t.Fatal(err)
				}
				if full < MaxSize {
					tried++
				}
				for _, limit := range []int{full - 1, full - 60, full / 2, 1, 0} {
					if n, err := enc.Compress(capped[:max(limit, 0)], base[i]); n != 0 || err != nil {
						t.Fatalf("page %d: object of %d bytes gave %d bytes with a cap of %d: %v", i, full, n, limit, err)
					}
				}
				for _, limit := range []int{full, full + 1, full + slack - 1, full + slack} {
					limit = min(limit, len(capped))
					n, err := enc.Compress(capped[:limit], base[i])
					if err != nil || !bytes.Equal(capped[:n], object[:full]) {
						t.Fatalf("page %d: object of %d bytes gave %d bytes with a cap of %d: %v", i, full, n, limit, err)
					}
				}
			}
			if tried == 0 {
				t.Error("no page compressed")
			}
		})
	})
}

// Every cap that there is, for a few pages; with -short some of them, others for each page, and
// those about the object's length.
func TestEveryCap(t *testing.T) {
	eachEncoding(t, func(t *testing.T, encode encodeFunc, _ decodeFunc) {
		object, capped := make([]byte, MaxObject), make([]byte, MaxObject)
		var tab table
		for i, page := range codectest.Generated()[:12] {
			full := encode(object, page, &tab)
			for limit := range capped {
				if (limit-i)%codectest.Stride() != 0 && max(limit-full, full-limit) > 1 {
					continue
				}
				n := encode(capped[:limit], page, &tab)
				if limit < full && n != 0 || limit >= full && !bytes.Equal(capped[:n], object[:full]) {
					t.Fatalf("page %d: object of %d bytes gave %d bytes with a cap of %d", i, full, n, limit)
				}
			}
		}
	})
}

// An object that does not fit must not be written into the capacity behind dst either.
func TestCapKeepsWhatIsBehind(t *testing.T) {
	eachEncoding(t, func(t *testing.T, encode encodeFunc, _ decodeFunc) {
		enc := Encoder{encode: encode}
		memory := make([]byte, 2*MaxSize)
		for _, limit := range []int{0, 1, 63, 64, 65, 100, 3072, 3840, MaxSize} {
			for i := range memory {
				memory[i] = 0xA5
			}
			for _, page := range codectest.Generated()[:1000] {
				if _, err := enc.Compress(memory[:limit], page); err != nil {
					t.Fatal(err)
				}
			}
			if got := bytes.Count(memory[limit:], []byte{0xA5}); got != len(memory)-limit {
				t.Errorf("cap %d: %d bytes behind it were changed", limit, len(memory)-limit-got)
			}
		}
	})
}

// A nil slice lies at address 0, where limits computed from it would wrap around.
func TestNilBuffers(t *testing.T) {
	eachEncoding(t, func(t *testing.T, encode encodeFunc, decode decodeFunc) {
		if n := encode(nil, codectest.Generated()[0], new(table)); n != 0 {
			t.Errorf("%d bytes in no buffer", n)
		}
		if decode(make([]byte, MaxSize), nil) {
			t.Error("an object of no bytes was read")
		}
	})
}
