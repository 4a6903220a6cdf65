// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// An encoder and a decoder of either format, in any implementation.
type (
	encoder interface {
		Compress(dst, page []byte) (int, error)
	}
	decoder interface {
		Decompress(page, object []byte) error
	}
)

// A coding is an encoder and a decoder of one implementation of a format.
type coding struct {
	enc   encoder
	dec   decoder
	judge func(t *testing.T, object []byte) bool
	some  func(tb testing.TB, count int) [][]byte // objects of the format
}

// eachCoding runs f as a subtest for each format and implementation that this machine can run.
func eachCoding(t *testing.T, f func(t *testing.T, c coding)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) {
		eachPair(t, func(t *testing.T, p pair) { f(t, coding{p.enc, p.dec, judge, objects}) })
	})
	t.Run("dense", func(t *testing.T) {
		eachDensePair(t, func(t *testing.T, p densePair) { f(t, coding{p.enc, p.dec, judgeDense, denseObjects}) })
	})
}

// objectBy returns the object that enc makes of a page, or nil if it makes none.
func objectBy(tb testing.TB, enc encoder, page []byte) []byte {
	tb.Helper()
	dst := make([]byte, Size)
	n, err := enc.Compress(dst, page)
	if err != nil {
		tb.Fatal(err)
	}
	if n == 0 {
		return nil
	}
	return dst[:n:n]
}

// objectsBy returns objects that enc makes of pages of all kinds.
func objectsBy(tb testing.TB, enc encoder, count int) [][]byte {
	tb.Helper()
	var all [][]byte
	for _, page := range codectest.Generated() {
		if object := objectBy(tb, enc, page); object != nil {
			all = append(all, object)
		}
		if len(all) == count {
			return all
		}
	}
	tb.Fatalf("there are %d objects, not %d", len(all), count)
	return nil
}

// decodersOf returns a decoder of each implementation in table that this machine can run.
func decodersOf[F any, D decoder](table impl.Table[F], newDecoder func(impl.Set) (D, error)) map[impl.Set]decoder {
	all := map[impl.Set]decoder{}
	for _, e := range table {
		if impl.Has(e.Set) {
			dec, err := newDecoder(e.Set)
			if err != nil {
				panic(err) // the table names a set that it does not have
			}
			all[e.Set] = dec
		}
	}
	return all
}

// judgeBy fails the test unless all decoders say of an object what the reference does, with the
// same page. It reports whether the object is valid.
func judgeBy(t *testing.T, decoders map[impl.Set]decoder, object, want []byte, broken error) bool {
	t.Helper()
	var got [Size]byte
	for set, dec := range decoders {
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
