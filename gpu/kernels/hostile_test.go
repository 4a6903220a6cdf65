// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// hostileLZ4 are objects that each want one thing that must not happen, and their harmless neighbours.
func hostileLZ4() [][]byte {
	var all [][]byte
	add := func(parts ...[]byte) { all = append(all, bytes.Join(parts, nil)) }
	escapes := func(n int, last byte) []byte { return append(bytes.Repeat([]byte{255}, n), last) }
	some := bytes.Repeat([]byte("page"), 1100)
	for n := range 4 {
		all = append(all, make([]byte, n), some[:MaxLZ4Object-1+n], append([]byte{0xF0}, escapes(13+n, 0)...))
	}
	all = append(all, some)
	// Lengths that go on for ever, of literals and of matches, cut at each place near the end.
	for _, n := range []int{0, 1, 2, 15, 16, 17, 300, MaxLZ4Object - 2} {
		add([]byte{0xF0}, bytes.Repeat([]byte{255}, n))
		add([]byte{0x1F, 7, 1, 0}, bytes.Repeat([]byte{255}, min(n, MaxLZ4Object-4)))
		add([]byte{0xF0}, escapes(min(n, 100), 3), some[:200])
		add([]byte{0x1F, 7, 1, 0}, escapes(min(n, 100), 3), []byte{0x10, 1})
	}
	// Distances of 0, of what is there and of more, behind literals of some number; then the literals that would make it a page.
	for _, literals := range []int{0, 1, 2, 14, 15, 31, 32, 33} {
		for distance := range 36 {
			for _, match := range []int{4, 5, 18, 19, 36, 37, 300} {
				s := modelSequence{0, literals, max(distance, 1), match}
				object := s.append(nil, some)
				at := 1 + literals
				if literals >= escape {
					at++
				}
				object[at] = byte(distance)
				add(modelSequence{0, PageSize - literals - match, 0, 0}.append(object, some))
				add(object)
			}
		}
	}
	// Pages that end a byte early and late, by literals and by matches, and objects that end where a token or a distance should be.
	for n := PageSize - 3; n <= PageSize+3; n++ {
		add(modelSequence{0, n, 0, 0}.append(nil, some))
		match := modelSequence{0, 5, 4, n - 10}.append(nil, some)
		add(match, []byte{0x50}, some[:5])
		for cut := range len(match) {
			add(match[:cut])
		}
		add(modelSequence{0, 5, 4, n - 5}.append(nil, some), []byte{0})
		add(modelSequence{0, 5, 4, n - 5}.append(nil, some))
	}
	return all
}

// hostilePage are made of counts that say anything before streams that say anything, in part such as the format wants.
func hostilePage() [][]byte {
	rng := rand.New(rand.NewPCG(21, 22))
	var all [][]byte
	for i := range 2500 {
		literals, distances, tokens := rng.IntN(40), rng.IntN(40), rng.IntN(70)
		if i%7 == 0 {
			literals = rng.IntN(4000)
		}
		object := make([]byte, headerSize+literals+distances+tokens)
		for at := range object {
			object[at] = byte(rng.Uint32())
		}
		if i%3 > 0 { // few kinds of tokens, so that some get far
			for at := headerSize + literals + distances; at < len(object); at++ {
				object[at] = []byte{0, 7, 8, 75, 128, 160, 181, 238, 254, 255}[rng.IntN(10)]
			}
		}
		counts := literals | tokens<<12
		if i%11 == 0 {
			counts = rng.IntN(1 << 24)
		}
		object[0], object[1], object[2] = byte(counts), byte(counts>>8), byte(counts>>16)
		all = append(all, object)
	}
	for n := range 4 {
		all = append(all, make([]byte, n), make([]byte, MaxPageObject-1+n))
	}
	// Far words, and near bytes, of which there are some and not enough.
	for _, token := range []byte{181, 238} {
		for _, distances := range []int{0, 1, 3, 63, 64, 65, 79} {
			tokens := bytes.Repeat([]byte{token}, 40)
			all = append(all, slices.Concat([]byte{1, 0x90, 2, 'x'}, bytes.Repeat([]byte{1}, distances), []byte{8}, tokens))
		}
	}
	all = append(all, make([]byte, 2*PageSize))
	slices.Reverse(all)
	return append(all, exactPages(rng)...)
}

// exactPages fill a page to the byte, or miss it by one: runs of literals and matches over all kinds of distances.
func exactPages(rng *rand.Rand) [][]byte {
	var all [][]byte
	for i := range 300 {
		var literals, near, far, tokens []byte
		at := 0
		for at < PageSize {
			left := PageSize - at
			switch choice := rng.IntN(5); {
			case at == 0 || choice == 0 && left >= 32:
				n := rng.IntN(2)
				tokens, near = append(tokens, literalRunNumber), append(near, byte(n))
				for range runUnit * (n + 1) {
					literals = append(literals, byte(rng.Uint32()))
				}
				at += runUnit * (n + 1)
			case choice == 1 && left >= runUnit:
				n := rng.IntN(min(left/runUnit, 256))
				tokens, near = append(tokens, matchRunNumber), append(near, byte(n))
				at += runUnit * (n + 1)
			case choice == 2 && left >= 35:
				w := 1 + rng.IntN(at+i%2*4) | rng.IntN(16)<<12
				tokens, far = append(tokens, 239), append([]byte{byte(w), byte(w >> 8)}, far...)
				at += 20 + w>>12
			case choice == 3 && left >= 3:
				tokens, near = append(tokens, 181), append(near, byte(rng.IntN(min(at, 64))))
				at += 3
			default:
				token := []byte{0, 75, 128, 160}[rng.IntN(4)]
				if token > 0 && left < 2 {
					token = 0
				}
				tokens = append(tokens, token)
				at += min(int(token)+1, 2)
			}
		}
		if i%5 == 0 {
			tokens = append(tokens, 0)
		}
		counts := len(literals) | len(tokens)<<12
		object := append([]byte{byte(counts), byte(counts >> 8), byte(counts >> 16)}, literals...)
		if object = append(append(append(object, near...), far...), tokens...); len(object) <= MaxPageObject {
			all = append(all, object)
		}
	}
	return all
}

func TestHostileObjectsAreJudgedAsByTheCodec(t *testing.T) {
	hostile := map[string][][]byte{"lz4": hostileLZ4(), "page": hostilePage()}
	eachFormat(t, func(t *testing.T, f format) {
		objects := hostile[f.name]
		refused := f.run(t, build(t, f.decompress), 0, objects)
		t.Logf("%d of %d objects refused", refused, len(objects))
		if refused < len(objects)/4 || len(objects)-refused < 50 {
			t.Errorf("%d of %d objects were refused: the test proves little", refused, len(objects))
		}
	})
}
