// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// some are bytes that are there.
var some = bytes.Repeat([]byte("page"), 1100)

// hostileLZ4 are objects that each want one thing that must not happen, and their harmless
// neighbours.
func hostileLZ4() [][]byte {
	all := [][]byte{some}
	for n := range 4 {
		all = append(all, make([]byte, n), some[:MaxLZ4Object-1+n], append([]byte{0xF0}, escapes(13+n, 0)...))
	}
	return slices.Concat(all, hostileLengths(), hostileDistances(), hostileEnds())
}

func escapes(n int, last byte) []byte { return append(bytes.Repeat([]byte{255}, n), last) }

// hostileLengths go on for ever, of literals and of matches, cut at each place near the end.
func hostileLengths() (all [][]byte) {
	for _, n := range []int{0, 1, 2, 15, 16, 17, 300, MaxLZ4Object - 2} {
		all = append(all,
			slices.Concat([]byte{0xF0}, bytes.Repeat([]byte{255}, n)),
			slices.Concat([]byte{0x1F, 7, 1, 0}, bytes.Repeat([]byte{255}, min(n, MaxLZ4Object-4))),
			slices.Concat([]byte{0xF0}, escapes(min(n, 100), 3), some[:200]),
			slices.Concat([]byte{0x1F, 7, 1, 0}, escapes(min(n, 100), 3), []byte{0x10, 1}))
	}
	return all
}

// hostileDistances are 0, of what is there and of more, behind literals of some number; then come
// the literals that would make it a page.
func hostileDistances() (all [][]byte) {
	for _, literals := range []int{0, 1, 2, 14, 15, 31, 32, 33} {
		for distance := range 36 {
			for _, match := range []int{4, 5, 18, 19, 36, 37, 273, 274, 300} {
				object := modelSequence{0, literals, max(distance, 1), match}.append(nil, some)
				object[1+literals+extra(literals)] = byte(distance)
				all = append(all, modelSequence{0, PageSize - literals - match, 0, 0}.append(bytes.Clone(object), some), object)
			}
		}
	}
	return all
}

// hostileEnds make pages that end a byte early and late, by literals and by matches, or end
// themselves where a token or a distance should be.
func hostileEnds() (all [][]byte) {
	for n := PageSize - 3; n <= PageSize+3; n++ {
		match := modelSequence{0, 5, 4, n - 10}.append(nil, some)
		last := modelSequence{0, 5, 4, n - 5}.append(nil, some)
		all = append(all, modelSequence{0, n, 0, 0}.append(nil, some), slices.Concat(match, []byte{0x50}, some[:5]), last, slices.Concat(last, []byte{0}))
		for cut := range len(match) {
			all = append(all, match[:cut])
		}
		for match := n - 300; match < n-5; match += 23 {
			all = append(all, modelSequence{0, n - 5 - match, 4, match}.append(nil, some), slices.Concat(modelSequence{0, n - 5 - match, 4, match}.append(nil, some), []byte{0x50}, some[:5]))
		}
	}
	return all
}

// hostilePage are made of counts that say anything before streams that say anything, in part such
// as the format wants.
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
	// Far words, and some near bytes, but too few.
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

// exactPages fill a page to the byte, or miss it by one: runs of literals and matches over all
// kinds of distances.
func exactPages(rng *rand.Rand) [][]byte {
	var all [][]byte
	for i := range 300 {
		var p pageStreams
		for p.at < PageSize {
			p.add(rng, i%2*4)
		}
		if i%5 == 0 {
			p.tokens = append(p.tokens, 0)
		}
		counts := len(p.literals) | len(p.tokens)<<12
		header := []byte{byte(counts), byte(counts >> 8), byte(counts >> 16)}
		if object := slices.Concat(header, p.literals, p.near, p.far, p.tokens); len(object) <= MaxPageObject {
			all = append(all, object)
		}
	}
	return all
}

// pageStreams are an object of the page format in the making, with the number of bytes of the page
// that it describes so far.
type pageStreams struct {
	literals, near, far, tokens []byte
	at                          int
}

// add appends tokens for more of the page, which has room for them. A far distance may reach that
// many bytes before the page.
func (p *pageStreams) add(rng *rand.Rand, before int) {
	left := PageSize - p.at
	switch choice := rng.IntN(5); {
	case p.at == 0 || choice == 0 && left >= 2*runUnit:
		n := 1 + rng.IntN(2)
		for range runUnit * n {
			p.literals = append(p.literals, byte(rng.Uint32()))
		}
		p.run(literalRunNumber, n)
	case choice == 1 && left >= runUnit:
		p.run(matchRunNumber, 1+rng.IntN(min(left/runUnit, 256)))
	case choice == 2 && left >= 35:
		w := 1 + rng.IntN(p.at+before) | rng.IntN(16)<<12
		p.tokens, p.far = append(p.tokens, 239), append([]byte{byte(w), byte(w >> 8)}, p.far...)
		p.at += 20 + w>>12
	case choice == 3 && left >= 3:
		p.tokens, p.near = append(p.tokens, 181), append(p.near, byte(rng.IntN(min(p.at, 64))))
		p.at += 3
	case left == 1:
		p.tokens = append(p.tokens, 0)
		p.at++
	default: // a match of two bytes at one of the other remembered distances
		p.tokens = append(p.tokens, []byte{75, 128, 160}[rng.IntN(3)])
		p.at += 2
	}
}

func (p *pageStreams) run(token byte, units int) {
	p.tokens, p.near = append(p.tokens, token), append(p.near, byte(units-1))
	p.at += runUnit * units
}

func TestHostileObjectsAreJudgedAsByTheCodec(t *testing.T) {
	hostile := map[string][][]byte{"lz4": hostileLZ4(), "page": hostilePage()}
	eachFormat(t, func(t *testing.T, f format) {
		objects := spread(hostile[f.name], fewer(len(hostile[f.name])))
		refused := f.run(t, build(t, f.decompress), 0, objects)
		t.Logf("%d of %d objects refused", refused, len(objects))
		if refused < len(objects)/4 || len(objects)-refused < len(objects)/100 {
			t.Errorf("%d of %d objects were refused: the test proves little", refused, len(objects))
		}
	})
}
