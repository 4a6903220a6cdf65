// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package page

import "github.com/zramfs/zramfs/codec/internal/impl"

var routinesTable = impl.Table[routines]{
	{Set: impl.AVX512, F: routines{parse: parseAVX2, decode: decodeAVX512}},
	{Set: impl.AVX2, F: routines{parse: parseAVX2, decode: decodeAVX2}},
	{Set: impl.Generic, F: routines{parse: parseGeneric, decode: decodeGeneric}},
}

// parseAVX2 writes nearly all matches itself and leaves to the caller those that take more tokens
// than a plan has. One vector of AVX-512 in place of two of AVX2 makes it 2 % slower.
func parseAVX2(s *search) bool { return parseTokensAVX2(s, plans) }

// decodeAVX512 needs what it loads too much of literals to be in the object.
func decodeAVX512(dst []byte, s streams) bool {
	if len(s.distances)+len(s.tokens) < maxLiterals {
		return decodeGeneric(dst, s)
	}
	return decodeTokensAVX512(dst, s.literals, s.distances, s.tokens, vectors)
}

// decodeAVX2 needs what it loads too much of literals to be in the object, and a page that its tail
// is a part of.
func decodeAVX2(dst []byte, s streams) bool {
	if len(s.distances)+len(s.tokens) < maxLiterals || len(dst) < Size {
		return decodeGeneric(dst, s)
	}
	return decodeTokensAVX2(dst, s.literals, s.distances, s.tokens, vectors)
}

// decodeTokensAVX2 works like decodeGeneric, for at least a page. It may read as
// decodeTokensAVX512 does.
//
//go:noescape
func decodeTokensAVX2(dst, literals, distances, tokens []byte, tables *vectorTables) bool

// parseTokensAVX2 works like parseGeneric.
//
//go:noescape
func parseTokensAVX2(s *search, plans *planTable) bool

// decodeTokensAVX512 works like decodeGeneric. It may read 16 bytes behind the literals' end, and
// the two before the distances, which the object's header makes its own.
//
//go:noescape
func decodeTokensAVX512(dst, literals, distances, tokens []byte, tables *vectorTables) bool

// A kindRow says, in masks and counts, where a kind's distance comes from.
type kindRow struct {
	others           uint64 // the remembered distances that stay
	rep              uint64 // for BEXTR: from which bit on the distance is remembered, and times 2^8 in how many bits
	near, far, extra uint32 // which bits of a near distance and of a far word count
	nears, fars      uint64 // how many bytes of the distances it takes
	// For VPSHUFB: which bytes of the four remembered distances, a near one and a far one make the
	// distances that are remembered next.
	order [16]byte
}

const (
	windowSize = 64
	rowSize    = 2 * windowSize
	farRows    = nearDense + 1
)

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
	// How much is subtracted from a byte's number for the byte that it repeats, by distance and
	// behind these, for far matches, by number of literals.
	rows   [farRows + maxLiterals + 1][rowSize]byte
	counts [3 * windowSize]byte // 0, 1, 2 and so on
	// For the decoder with short vectors, by distance up to their length: which bytes of 16 are
	// repeated over four such vectors.
	shuffles [17][windowSize]byte
}

// vectors is immutable once made.
var vectors = makeVectorTables()

func makeVectorTables() *vectorTables {
	v := &vectorTables{near: nearDistances}
	for i, t := range tokens {
		v.tokens[i] = tokenEntry{t.literals, t.length, uint16(t.kind) * 64}
	}
	for kind := range v.kinds {
		v.kinds[kind] = makeKindRow(kind)
	}
	for i := range windowSize {
		for distance := 1; distance <= nearDense; distance++ {
			v.rows[distance][windowSize+i] = byte(distance * (i/distance + 1))
		}
		for literals := range maxLiterals + 1 {
			v.rows[farRows+literals][windowSize+i] = byte(literals - maxLiterals)
		}
	}
	for i := range v.counts {
		v.counts[i] = byte(i)
	}
	for i := range windowSize {
		for distance := 1; distance < len(v.shuffles); distance++ {
			v.shuffles[distance][i] = byte(i % distance)
		}
	}
	return v
}

func makeKindRow(kind int) kindRow {
	masks := rememberMasks[kind]
	r := kindRow{others: masks.before | masks.behind, order: makeOrder(kind)}
	switch kind {
	case near:
		r.near, r.nears = 0xffff, 1
	case far:
		r.far, r.extra, r.fars = 0xfff, farExtra, 2
	default:
		r.rep = uint64(16*kind) | 16<<8
	}
	return r
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
