// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package page

import "github.com/zramfs/zramfs/codec/internal/impl"

var routinesTable = impl.Table[routines]{
	{Set: impl.AVX2, F: routines{parse: parseAVX2, decode: decodeAVX2}},
	{Set: impl.Generic, F: routines{parse: parseGeneric, decode: decodeGeneric}},
}

// parseAVX2 writes nearly all matches itself and leaves to the caller those that take more tokens
// than a plan has. One vector of AVX-512 in place of two of AVX2 makes it 2 % slower.
func parseAVX2(s *search) bool { return parseTokensAVX2(s, plans) }

// decodeAVX2 needs what it loads too much of literals to be in the object, and a page that its tail
// is a part of.
func decodeAVX2(dst []byte, s streams) bool {
	if len(s.distances)+len(s.tokens) < maxLiterals || len(dst) < Size {
		return decodeGeneric(dst, s)
	}
	return decodeTokensAVX2(dst, s.literals, s.distances, s.tokens, vectors)
}

// decodeTokensAVX2 works like decodeGeneric, for at least a page. It may read 16 bytes behind the
// literals' end, and the two before the distances, which the object's header makes its own.
//
//go:noescape
func decodeTokensAVX2(dst, literals, distances, tokens []byte, tables *vectorTables) bool

// parseTokensAVX2 works like parseGeneric.
//
//go:noescape
func parseTokensAVX2(s *search, plans *planTable) bool

// A kindRow says where a kind's distance comes from. It has 64 bytes, a line of the cache.
type kindRow struct {
	// For VPSHUFB: which bytes of the four remembered distances, a near one and a far one make the
	// distances that are remembered next.
	order       [16]byte
	nears, fars uint64 // how many bytes of the distances it takes
	extra       uint32 // which bits of a far word, above the distance, are added to the length
	_           [28]byte
}

// A tokenEntry is what a token says, and where the row of its kind begins.
type tokenEntry struct {
	literals, length uint8
	kind             uint16
}

// vectorTables is what the assembly looks up. Package codec/_asm/page knows where its fields lie.
type vectorTables struct {
	tokens [256]tokenEntry
	near   [256]uint16 // the distances of near bytes
	kinds  [kinds]kindRow
	// By distance up to a vector's length: which bytes of 16 are repeated over four such vectors.
	shuffles [17][64]byte
}

// vectors is immutable once made.
var vectors = makeVectorTables()

func makeVectorTables() *vectorTables {
	v := &vectorTables{near: nearDistances}
	for i, t := range tokens {
		v.tokens[i] = tokenEntry{t.literals, t.length, uint16(t.kind) * 64}
	}
	for kind := range v.kinds {
		v.kinds[kind].order = makeOrder(kind)
	}
	v.kinds[near].nears = 1
	v.kinds[far].fars, v.kinds[far].extra = 2, farExtra
	for distance := 1; distance < len(v.shuffles); distance++ {
		for i := range v.shuffles[distance] {
			v.shuffles[distance][i] = byte(i % distance)
		}
	}
	return v
}

func makeOrder(kind int) (order [16]byte) {
	words := []int{kind}
	for place := rep0; place <= rep3; place++ {
		if place != min(kind, rep3) {
			words = append(words, place)
		}
	}
	for i, word := range words {
		order[2*i], order[2*i+1] = byte(2*word), byte(2*word+1)
	}
	return order
}
