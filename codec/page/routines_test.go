// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// A pair is an encoder and a decoder of one implementation.
type pair struct {
	set impl.Set
	enc *Encoder
	dec *Decoder
}

// newPair makes the pair of a set that this machine has.
func newPair(tb testing.TB, set impl.Set) pair {
	tb.Helper()
	enc, err := NewEncoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	dec, err := NewDecoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	return pair{set, enc, dec}
}

// eachPair runs f as a subtest for each implementation that this machine can run.
func eachPair(t *testing.T, f func(t *testing.T, p pair)) {
	t.Helper()
	codectest.EachEntry(t, routinesTable, func(t *testing.T, e impl.Entry[routines]) { f(t, newPair(t, e.Set)) })
}

// pairs returns one of each implementation that this machine can run, the generic one last.
func pairs(tb testing.TB) []pair {
	tb.Helper()
	var all []pair
	for _, e := range routinesTable {
		if impl.Has(e.Set) {
			all = append(all, newPair(tb, e.Set))
		}
	}
	return all
}

// decoders holds a decoder of each implementation that this machine can run.
var decoders = sync.OnceValue(func() map[impl.Set]decoder { return decodersOf(routinesTable, NewDecoder) })

// object returns the object of a page, or nil if it has none.
func (p pair) object(tb testing.TB, page []byte) []byte {
	tb.Helper()
	return objectBy(tb, p.enc, page)
}

// objects returns objects of pages of all kinds.
func objects(tb testing.TB, count int) [][]byte {
	tb.Helper()
	return objectsBy(tb, newPair(tb, impl.Generic).enc, count)
}

// newRand returns a source of numbers that are the same in every run.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// fill overwrites memory with one byte.
func fill(memory []byte, b byte) {
	for i := range memory {
		memory[i] = b
	}
}
