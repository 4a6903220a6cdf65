// SPDX-License-Identifier: Apache-2.0

package page

import (
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
	return objectBy(tb, p.enc, page)
}

// denseObjects returns objects of pages of all kinds.
func denseObjects(tb testing.TB, count int) [][]byte {
	tb.Helper()
	return objectsBy(tb, newDensePair(tb, impl.Generic).enc, count)
}

// denseDecoders holds a decoder of each implementation that this machine can run.
var denseDecoders = sync.OnceValue(func() map[impl.Set]decoder { return decodersOf(denseTable, NewDenseDecoder) })

// judgeDense fails the test unless all decoders say of an object what the reference does, with the
// same page. It reports whether the object is valid. Only one test may call it at a time.
func judgeDense(t *testing.T, object []byte) bool {
	t.Helper()
	want, broken := denseReferenceDecode(object)
	return judgeBy(t, denseDecoders(), object, want, broken)
}
