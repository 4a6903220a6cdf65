// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// FuzzDecompress gives any bytes to all decoders and the reference.
func FuzzDecompress(f *testing.F) {
	for i := range 20 {
		f.Add(madeObject(uint64(i)))
	}
	for _, object := range objects(f, 10) {
		f.Add(object)
	}
	for _, c := range craftedObjects {
		f.Add(c.object())
	}
	f.Fuzz(func(t *testing.T, object []byte) { judge(t, object) })
}

// FuzzRoundTrip gives any page to all encoders, which must agree at any cap, and what they make to
// all decoders and the reference. The page is the given bytes, as often as they go into it, with
// the number of the time added to each byte of it.
func FuzzRoundTrip(f *testing.F) {
	for _, page := range codectest.Generated()[:10] {
		f.Add(page, byte(0), uint16(Size))
		f.Add(page[:1000], byte(3), uint16(300))
	}
	f.Fuzz(func(t *testing.T, data []byte, add byte, limit uint16) {
		if len(data) == 0 {
			return
		}
		page := make([]byte, Size)
		for i := range page {
			page[i] = data[i%len(data)] + byte(i/len(data))*add
		}
		all := pairs(t)
		want := all[len(all)-1].object(t, page)
		if want != nil {
			judge(t, want)
			if back, err := referenceDecode(want); err != nil || !bytes.Equal(back, page) {
				t.Fatalf("did not come back: %v", err)
			}
		}
		dst := make([]byte, int(limit)%(Size+1))
		for _, p := range all {
			if object := p.object(t, page); !bytes.Equal(object, want) {
				t.Fatalf("%s: %d bytes, %d by the generic encoder, or other bytes", p.set, len(object), len(want))
			}
			n, err := p.enc.Compress(dst, page)
			if err != nil || len(want) <= len(dst) && !bytes.Equal(dst[:n], want) || len(want) > len(dst) && n != 0 {
				t.Fatalf("%s: %d bytes with a cap of %d: %v", p.set, n, len(dst), err)
			}
		}
	})
}
