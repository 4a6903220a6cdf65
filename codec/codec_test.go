// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"testing"
)

// worker is what one worker of a device holds: a compressor, a decompressor and buffers.
type worker struct {
	c      Compressor
	d      *Decompressor
	object [PageSize]byte
	back   [PageSize]byte
}

// newWorker makes a worker of the algorithm that name names.
func newWorker(tb testing.TB, name string) *worker {
	tb.Helper()
	a, err := Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	return workerOf(tb, a)
}

// workerOf returns a worker of an algorithm.
func workerOf(tb testing.TB, a Algorithm) *worker {
	tb.Helper()
	c, err := a.NewCompressor()
	if err != nil {
		tb.Fatal(err)
	}
	d, err := a.NewDecompressor()
	if err != nil {
		tb.Fatal(err)
	}
	return &worker{c: c, d: d}
}

// compress returns the object of page, which is valid until the next call.
func (w *worker) compress(page []byte) (ID, []byte, error) {
	id, n, err := w.c.Compress(w.object[:], page)
	if err != nil {
		return None, nil, err
	}
	if id == Raw {
		copy(w.object[:], page)
	}
	return id, w.object[:n], nil
}

var errDifferent = errors.New("the page came back different")

// roundTrip sends page there and back and returns its object.
func (w *worker) roundTrip(page []byte) (ID, []byte, error) {
	id, object, err := w.compress(page)
	if err != nil {
		return None, nil, err
	}
	if err := w.d.Decompress(w.back[:], id, object); err != nil {
		return None, nil, err
	}
	if !bytes.Equal(w.back[:], page) {
		return None, nil, errDifferent
	}
	return id, object, nil
}

// eachAlgorithm runs f as a subtest with a worker of each of the algorithms.
func eachAlgorithm(t *testing.T, names []string, f func(t *testing.T, name string, w *worker)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) { f(t, name, newWorker(t, name)) })
	}
}
