// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"zramfs/internal/pages"
)

// gainByDefinition computes the quadratic form in numbers that cannot overflow, term by term.
func gainByDefinition(m *Model, f Features) int {
	x := []int64{int64(f.High), int64(f.Zero), int64(f.Same24), int64(f.Same16)}
	pairs := [][2]int{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}}
	sum := big.NewInt(m.base)
	add := func(factors ...int64) {
		product := big.NewInt(1)
		for _, v := range factors {
			product.Mul(product, big.NewInt(v))
		}
		sum.Add(sum, product)
	}
	for i, w := range m.linear {
		add(w, x[i])
	}
	for k, p := range pairs {
		add(m.square[k], x[p[0]], x[p[1]])
	}
	sum.Rsh(sum, modelShift) // rounds down, below zero too
	return int(max(-PageSize, min(PageSize, sum.Int64())))
}

// A model's sums do not overflow at any features there can be, and are those of its definition.
func TestGainAgreesWithDefinition(t *testing.T) {
	const most = 1<<36 - 1
	rng := rand.New(rand.NewPCG(5, 7))
	extreme := &Model{base: most, linear: [4]int64{most, most, most, most}, square: [10]int64{most, most, most, most, most, most, most, most, most, most}}
	mixed := &Model{base: -most, linear: [4]int64{most, -most, 1, -1}, square: [10]int64{-most, most, -most, 3, -3, most, 0, -most, most, -7}}
	for _, m := range append(models(), extreme, mixed) {
		for i := range 2000 {
			f := Features{uint16(rng.IntN(Sampled + 1)), uint16(rng.IntN(Sampled + 1)), uint16(rng.IntN(Sampled + 1)), uint16(rng.IntN(Sampled + 1))}
			if i < 16 {
				f = Features{uint16(i & 1 * Sampled), uint16(i >> 1 & 1 * Sampled), uint16(i >> 2 & 1 * Sampled), uint16(i >> 3 * Sampled)}
			}
			if got, want := m.Gain(f), gainByDefinition(m, f); got != want {
				t.Fatalf("%+v: got %d, want %d", f, got, want)
			}
		}
	}
}

// The kinds of memory that are easy to tell apart: a denser codec has most to do on text, less on random bytes and sparse
// integers, and least on zeros.
func TestGainOrdersKinds(t *testing.T) {
	mean := func(kind pages.Kind) int {
		sum := 0
		for _, page := range pages.Generate(kind, 100, 3) {
			sum += LZ4ToZstd.Gain(Scan(page))
		}
		return sum / 100
	}
	text, random, sparse := mean(pages.Text), mean(pages.Random), mean(pages.SparseInts)
	if zeros := LZ4ToZstd.Gain(Scan(make([]byte, PageSize))); text <= random || text <= sparse || sparse <= zeros {
		t.Errorf("text %d, random %d, sparse integers %d, zeros %d bytes", text, random, sparse, zeros)
	}
}
