// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// FuzzDecode gives any bytes to all decoders, ours and two others.
func FuzzDecode(f *testing.F) {
	for i := range 40 {
		object, size := madeBlock(uint64(i))
		f.Add(object, uint16(size-1))
	}
	var enc Encoder
	for _, page := range codectest.Generated()[:10] {
		object := make([]byte, MaxObject)
		n, err := enc.Compress(object, page)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object[:n], uint16(MaxSize-1))
	}
	f.Fuzz(func(t *testing.T, object []byte, size uint16) {
		judge(t, 1+int(size)%MaxSize, object)
	})
}

// FuzzEncode gives any bytes to all encoders, which must agree at any cap, and their objects to the
// decoders, ours and another. The decoders read the objects of another encoder as well.
func FuzzEncode(f *testing.F) {
	for _, page := range codectest.Generated()[:10] {
		f.Add(page, uint16(MaxObject))
		f.Add(page[:1000], uint16(300))
	}
	f.Fuzz(func(t *testing.T, page []byte, limit uint16) {
		if len(page) == 0 || len(page) > MaxSize {
			return
		}
		var tab table
		full, want, object, back := make([]byte, MaxObject), make([]byte, MaxObject), make([]byte, MaxObject), make([]byte, len(page))
		for way, e := range generic().encodings() {
			m := e.encode(full, page, &tab)
			if judge(t, len(page), full[:m]) != valid || referenceDecode(back, full[:m]) != valid || !bytes.Equal(back, page) {
				t.Fatalf("%s: did not come back", e.name)
			}
			dst := object[:int(limit)%(MaxObject+1)]
			m = e.encode(want[:len(dst)], page, &tab)
			for _, other := range routinesTable {
				if !impl.Has(other.Set) {
					continue
				}
				if n := other.F.encodings()[way].encode(dst, page, &tab); !bytes.Equal(dst[:n], want[:m]) {
					t.Fatalf("%s %s: %d bytes with a cap of %d, or other bytes, than the %d of the generic one", other.Set, e.name, n, len(dst), m)
				}
			}
		}
		n, err := lz4.CompressBlock(page, object, nil)
		if err == nil && n > 0 && judge(t, len(page), object[:n]) != valid {
			t.Fatal("an object of pierrec/lz4 was refused")
		}
	})
}
