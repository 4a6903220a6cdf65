// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
)

// onsets, vowels and codas make up the words of Text pages.
var (
	onsets = []string{"", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "cl", "dr", "pr", "sh", "st", "th", "tr"}
	vowels = []string{"a", "e", "i", "o", "u", "ai", "ea", "io", "ou"}
	codas  = []string{"", "", "l", "m", "n", "r", "s", "t", "ck", "nd", "ng", "st"}
)

// vocabulary is the number of different words in Text pages.
const vocabulary = 3000

// word appends the word of a rank: the same rank is always the same word, and
// frequent words, whose rank is low, are short.
func word(text []byte, rank int) []byte {
	rng := rand.New(rand.NewPCG(uint64(rank), 0x776f7264))
	syllables := 1
	for limit := 40; rank > limit; limit *= 12 {
		syllables++
	}
	for range syllables {
		text = append(text, onsets[rng.IntN(len(onsets))]...)
		text = append(text, vowels[rng.IntN(len(vowels))]...)
		text = append(text, codas[rng.IntN(len(codas))]...)
	}
	return text
}

// fillText writes sentences about one subject: a page uses few words of the
// vocabulary, and the more often the lower their number.
func fillText(page []byte, rng *rand.Rand) {
	var subject [160]int
	for i := range subject {
		subject[i] = rng.IntN(vocabulary)
		if i < 24 {
			subject[i] = i
		}
	}
	text := make([]byte, 0, len(page)+64)
	for len(text) < len(page) {
		for range 4 + rng.IntN(12) {
			// A product of uniform numbers falls off like the frequency of words.
			common := rng.IntN(len(subject)) * rng.IntN(len(subject)) / len(subject)
			text = append(word(text, subject[common]), ' ')
		}
		if rng.IntN(2) == 0 {
			text = append(strconv.AppendInt(text, int64(rng.IntN(10000)), 10), ' ')
		}
		text[len(text)-1] = '.'
		text = append(text, '\n')
	}
	copy(page, text)
}

// arenaSize is the size in bytes of the arena that a Pointers page points into.
const arenaSize = 4 << 20

func fillPointers(page []byte, rng *rand.Rand) {
	arena := 0x00007f0000000000 | uint64(rng.Uint32())<<12
	types := [4]uint64{}
	for i := range types {
		types[i] = 0x0000555500000000 | uint64(rng.Uint32())&^63
	}
	for at := 0; at < len(page); {
		// An object is its type and up to seven fields, as a runtime lays them out.
		kind := rng.IntN(len(types))
		at = putWord(page, at, types[kind])
		for range 2*kind + 1 {
			at = putWord(page, at, field(arena, rng))
		}
	}
}

// field returns one field of an object.
func field(arena uint64, rng *rand.Rand) uint64 {
	switch share := rng.IntN(10); {
	case share < 4:
		return arena + uint64(rng.IntN(arenaSize/16))*16
	case share < 7:
		return 0
	case share < 9:
		return uint64(rng.IntN(64))
	}
	return uint64(rng.Uint32())
}

// putWord writes an 8-byte word where it fits and returns the offset behind it.
func putWord(page []byte, at int, word uint64) int {
	if at+8 <= len(page) {
		binary.LittleEndian.PutUint64(page[at:], word)
	}
	return at + 8
}

func fillSparseInts(page []byte, rng *rand.Rand) {
	for at := 0; at < len(page); at += 4 {
		if rng.IntN(10) == 0 {
			binary.LittleEndian.PutUint32(page[at:], uint32(rng.IntN(1000)))
		}
	}
}

func fillBF16(page []byte, rng *rand.Rand) {
	for at := 0; at < len(page); at += 2 {
		// Twelve uniform numbers add up to a nearly normal one. The sum is exact in
		// integers, and one multiplication rounds the same on every machine; a
		// logarithm would not.
		sum := int32(-6 << 16)
		for range 12 {
			sum += int32(rng.Uint32() >> 16)
		}
		const deviation = 0.02
		weight := float32(sum) * (deviation / (1 << 16))
		binary.LittleEndian.PutUint16(page[at:], uint16(math.Float32bits(weight)>>16))
	}
}

func fillRandom(page []byte, rng *rand.Rand) {
	for at := 0; at < len(page); at += 8 {
		binary.LittleEndian.PutUint64(page[at:], rng.Uint64())
	}
}

// fillWord repeats one 8-byte word: what a swap device calls a same-filled page.
func fillWord(page []byte, word uint64) {
	for at := 0; at < len(page); at += 8 {
		binary.LittleEndian.PutUint64(page[at:], word)
	}
}
