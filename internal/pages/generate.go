// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"fmt"
	"math/rand/v2"
)

// PageSize is the size of every page in bytes.
const PageSize = 4096

// A Kind is a kind of generated memory.
type Kind int

// The kinds of memory that Generate imitates. The ratios are LZ4's over pages of
// that kind; a test holds them to these ranges.
const (
	// Text is prose-like words, numbers and punctuation: LZ4 1.5 to 2.5.
	Text Kind = iota
	// Pointers is a heap of small objects: type words, pointers into one arena,
	// nil pointers and small counts in 8-byte words. LZ4 1.8 to 3.2.
	Pointers
	// SparseInts is arrays of 4-byte integers, mostly zero and otherwise
	// small. LZ4 3 to 8.
	SparseInts
	// BF16 is weights of a neural network, normally distributed around zero, in
	// two bytes each. LZ4 finds nothing; an entropy coder gains about a quarter.
	BF16
	// Random is uniformly distributed bytes, as encrypted or compressed data:
	// nothing compresses it.
	Random
)

// Kinds returns all kinds, in order.
func Kinds() []Kind { return []Kind{Text, Pointers, SparseInts, BF16, Random} }

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Text:
		return "text"
	case Pointers:
		return "pointers"
	case SparseInts:
		return "sparseints"
	case BF16:
		return "bf16"
	case Random:
		return "random"
	}
	return fmt.Sprintf("kind(%d)", int(k))
}

// Generate returns n pages of a kind, each of PageSize bytes, in one allocation.
// A page depends on the kind, the seed and its index alone: the first pages of a
// longer result are those of a shorter one, on every architecture. It panics when
// the kind is unknown or n is negative.
func Generate(kind Kind, n int, seed uint64) [][]byte {
	out := blank(n)
	for i, page := range out {
		fill(page, kind, seed, uint64(i))
	}
	return out
}

// Mix returns n pages of all kinds in an order without pattern, in shares that
// resemble a machine's memory: three in ten each text and pointers, a quarter
// sparse integers, one in twenty weights and one in twenty random, and the rest
// same-filled, mostly with zeros. It is as reproducible as Generate.
func Mix(n int, seed uint64) [][]byte {
	out := blank(n)
	for i, page := range out {
		rng := source(seed, mixStream, uint64(i))
		switch share := rng.IntN(100); {
		case share < 30:
			fill(page, Text, seed, uint64(i))
		case share < 60:
			fill(page, Pointers, seed, uint64(i))
		case share < 85:
			fill(page, SparseInts, seed, uint64(i))
		case share < 90:
			fill(page, BF16, seed, uint64(i))
		case share < 95:
			fill(page, Random, seed, uint64(i))
		case share < 97:
			fillWord(page, rng.Uint64())
		default:
			// A new page is zero already.
		}
	}
	return out
}

// mixStream keeps Mix's own random numbers apart from those of the kinds.
const mixStream = 1 << 16

// blank returns n zero pages in one allocation.
func blank(n int) [][]byte {
	memory := make([]byte, n*PageSize)
	out := make([][]byte, n)
	for i := range out {
		out[i] = memory[i*PageSize : (i+1)*PageSize : (i+1)*PageSize]
	}
	return out
}

// source returns the random numbers of one page. The multiplier spreads nearby
// indexes over the generator's states, since two states that differ in a few bits
// give similar first numbers.
func source(seed, stream, index uint64) *rand.Rand {
	const golden = 0x9e3779b97f4a7c15
	return rand.New(rand.NewPCG(seed^(stream*golden), (index+1)*golden))
}

func fill(page []byte, kind Kind, seed, index uint64) {
	rng := source(seed, uint64(kind), index)
	switch kind {
	case Text:
		fillText(page, rng)
	case Pointers:
		fillPointers(page, rng)
	case SparseInts:
		fillSparseInts(page, rng)
	case BF16:
		fillBF16(page, rng)
	case Random:
		fillRandom(page, rng)
	default:
		panic("pages: unknown kind " + kind.String())
	}
}
