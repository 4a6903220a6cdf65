// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// FuzzDenseDecode gives any bytes to all decoders and to the one written from the document.
func FuzzDenseDecode(f *testing.F) {
	for i := range 20 {
		f.Add(madeDenseObject(uint64(i)))
	}
	for _, object := range denseObjects(f, 10) {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object []byte) { judgeDense(t, object) })
}

// denseEncoders holds an encoder of each implementation that this machine can run.
var denseEncoders = sync.OnceValue(func() map[impl.Set]densePair {
	all := map[impl.Set]densePair{}
	for _, e := range denseTable {
		if impl.Has(e.Set) {
			enc, err := NewDenseEncoder(e.Set)
			if err != nil {
				panic(err) // the table names a set that it does not have
			}
			all[e.Set] = densePair{set: e.Set, enc: enc}
		}
	}
	return all
})

// FuzzDenseEncode gives any page to all encoders, which must agree at any cap, and what they make
// to the decoders.
func FuzzDenseEncode(f *testing.F) {
	for _, page := range codectest.Generated()[:10] {
		f.Add(page, uint16(MaxObject))
		f.Add(page[:1000], uint16(300))
	}
	f.Fuzz(func(t *testing.T, start []byte, limit uint16) {
		page := make([]byte, Size)
		for at := 0; at < Size && len(start) > 0; {
			at += copy(page[at:], start)
		}
		full := denseEncoders()[impl.Generic].object(t, page)
		if full != nil {
			if want, err := denseReferenceDecode(full); err != nil || !bytes.Equal(want, page) || !judgeDense(t, full) {
				t.Fatalf("did not come back: %v", err)
			}
		}
		dst := make([]byte, int(limit)%(Size+1))
		for set, p := range denseEncoders() {
			n, err := p.enc.Compress(dst, page)
			if fits := full != nil && len(full) <= len(dst); err != nil || fits && !bytes.Equal(dst[:n], full) || !fits && n != 0 {
				t.Fatalf("%s: %d bytes in a space of %d: %v", set, n, len(dst), err)
			}
		}
	})
}
