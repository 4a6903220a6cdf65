// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// A densePair is an encoder and a decoder of one implementation.
type densePair struct {
	set impl.Set
	enc *DenseEncoder
	dec *DenseDecoder
}

// newDensePair makes the pair of a set that this machine has.
func newDensePair(tb testing.TB, set impl.Set) densePair {
	tb.Helper()
	enc, err := NewDenseEncoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	dec, err := NewDenseDecoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	return densePair{set, enc, dec}
}

// eachDensePair runs f as a subtest for each implementation that this machine can run.
func eachDensePair(t *testing.T, f func(t *testing.T, p densePair)) {
	t.Helper()
	codectest.EachEntry(t, denseTable, func(t *testing.T, e impl.Entry[denseRoutines]) { f(t, newDensePair(t, e.Set)) })
}

// object returns the object of a page, or nil if it has none.
func (p densePair) object(tb testing.TB, page []byte) []byte {
	tb.Helper()
	dst := make([]byte, Size)
	n, err := p.enc.Compress(dst, page)
	if err != nil {
		tb.Fatal(err)
	}
	if n == 0 {
		return nil
	}
	return dst[:n:n]
}

// denseObjects returns objects of pages of all kinds.
func denseObjects(tb testing.TB, count int) [][]byte {
	tb.Helper()
	var all [][]byte
	p := newDensePair(tb, impl.Generic)
	for _, page := range codectest.Generated() {
		if object := p.object(tb, page); object != nil {
			all = append(all, object)
		}
		if len(all) == count {
			return all
		}
	}
	tb.Fatalf("there are %d objects, not %d", len(all), count)
	return nil
}

// denseDecoders holds a decoder of each implementation that this machine can run.
var denseDecoders = sync.OnceValue(func() map[impl.Set]*DenseDecoder {
	all := map[impl.Set]*DenseDecoder{}
	for _, e := range denseTable {
		if impl.Has(e.Set) {
			dec, err := NewDenseDecoder(e.Set)
			if err != nil {
				panic(err) // the table names a set that it does not have
			}
			all[e.Set] = dec
		}
	}
	return all
})

// judgeDense fails the test unless all decoders say of an object what the reference does, with the
// same page. It reports whether the object is valid. Only one test may call it at a time.
func judgeDense(t *testing.T, object []byte) bool {
	t.Helper()
	want, broken := denseReferenceDecode(object)
	var got [Size]byte
	for set, dec := range denseDecoders() {
		fill(got[:], byte(len(object)))
		err := dec.Decompress(got[:], object)
		if (err != nil) != (broken != nil) {
			t.Fatalf("%s: %v, the reference: %v: object %x", set, err, broken, object)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s: refused by another error: %v", set, err)
		}
		if err == nil && !bytes.Equal(got[:], want) {
			t.Fatalf("%s: another page than the reference's: object %x", set, object)
		}
	}
	return broken == nil
}
