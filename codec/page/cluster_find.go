// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/binary"
	"math/bits"
)

const (
	// wordBits and tripleBits are the logarithms of the numbers of chains of positions with
	// the same four bytes, and of places for the last position with the same three.
	wordBits   = 15
	tripleBits = 12
	// chainFactor is 2^32 divided by the golden ratio.
	chainFactor = 0x9E3779B1
	// chainDepth is how many positions of a chain are looked at.
	chainDepth = 6
	// longEnough is the length of a match from which on nothing else is looked for within it.
	longEnough = 16
	// mostCandidates is how many candidates a position may have, and allCandidates how many
	// there is room for.
	mostCandidates = 4
	allCandidates  = 1 << 16
	// leastNear and leastFar are the lengths of the shortest matches at new distances.
	leastNear = 3
	leastFar  = 4
)

// A candidate is a match that may begin at a position: its distance, its length and whether it
// could not have begun one byte earlier.
type candidate uint32

const (
	candidateLength = 15 // where the length begins
	candidateFirst  = 1 << 31
)

func (c candidate) distance() int { return int(c & (1<<candidateLength - 1)) }
func (c candidate) length() int   { return int(c &^ candidateFirst >> candidateLength) }

// A clusterFinder finds matches at new distances for all positions of a cluster's text: for
// each position those that are longer than any at a smaller distance, near and far ones apart.
type clusterFinder struct {
	words      [1 << wordBits]uint16 // the last position of each chain, plus one; zero for none
	triples    [1 << tripleBits]uint16
	chains     [ClusterPages * Size]uint16 // the position before each in its chain, in the same way
	found      [ClusterPages * Size]uint8  // how many candidates each position has
	starts     [ClusterPages]int           // where a page's candidates begin
	candidates [allCandidates]candidate
	text       [margin + ClusterPages*Size + margin]byte // zeros in front, and what is left behind
	count      int                                       // of candidates
	bestNear   int                                       // the longest at the position that is looked at
	bestFar    int
}

// find finds all candidates of a text of some pages.
func (f *clusterFinder) find(pages int) {
	clear(f.words[:])
	clear(f.triples[:])
	f.count = 0
	for page := range pages {
		f.starts[page] = f.count
		end := (page + 1) * Size
		last := candidate(0)
		for at := page * Size; at < end; at++ {
			before := f.count
			last = f.findAt(at, end, last)
			f.found[at] = uint8(f.count - before)
		}
	}
}

// findAt finds the candidates of a position that end before a page's end. It returns the last
// one, which is the longest, and takes that of the position before.
func (f *clusterFinder) findAt(at, end int, last candidate) candidate {
	most := end - at
	x := uint32(f.eight(at))
	word := &f.words[x*chainFactor>>(32-wordBits)]
	triple := &f.triples[x<<8*chainFactor>>(32-tripleBits)]
	from, fromTriple := int(*word)-1, int(*triple)-1
	f.chains[at] = *word
	*word, *triple = uint16(at+1), uint16(at+1)
	if most < leastNear || f.count > allCandidates-mostCandidates {
		return 0
	}
	before := f.count
	if length := last.length() - 1; length >= longEnough {
		f.candidates[f.count] = candidate(last.distance() | length<<candidateLength)
		f.count++
		return f.candidates[before]
	}
	f.bestNear, f.bestFar = leastNear-1, leastFar-1
	if fromTriple >= 0 && fromTriple != from && isNear(at-fromTriple) {
		f.try(at, fromTriple, most, before)
	}
	for depth := 0; depth < chainDepth && from >= 0; depth++ {
		// A match that is longer has the byte behind the longest near one.
		if f.text[margin+from+f.bestNear] == f.text[margin+at+f.bestNear] {
			f.try(at, from, most, before)
			if max(f.bestNear, f.bestFar) >= 8*longEnough {
				break
			}
		}
		from = int(f.chains[from]) - 1
	}
	if f.count == before {
		return 0
	}
	return f.candidates[f.count-1]
}

// try adds the candidate at a position that an earlier one gives, if it is worth it.
func (f *clusterFinder) try(at, from, most, before int) {
	distance, best := at-from, f.bestNear
	close := isNear(distance)
	if !close {
		best = max(best, f.bestFar)
	}
	if best >= most || f.text[margin+from+best] != f.text[margin+at+best] {
		return
	}
	length := f.equal(at, distance, most)
	if length <= best {
		return
	}
	if close {
		f.bestNear = length
	} else {
		f.bestFar = length
	}
	c := candidate(distance | length<<candidateLength)
	if from == 0 || f.text[margin+at-1] != f.text[margin+from-1] {
		c |= candidateFirst
	}
	if f.count == before+mostCandidates {
		f.count--
	}
	f.candidates[f.count] = c
	f.count++
}

// eight returns the eight bytes at a position of the text, which may lie in the margins.
func (f *clusterFinder) eight(at int) uint64 { return binary.LittleEndian.Uint64(f.text[margin+at:]) }

// equal returns how many bytes from a position on, up to most, repeat those at a distance.
func (f *clusterFinder) equal(at, distance, most int) int {
	if distance > at {
		return 0
	}
	for n := 0; n < most; n += 8 {
		if x := f.eight(at+n) ^ f.eight(at+n-distance); x != 0 {
			return min(n+bits.TrailingZeros64(x)/8, most)
		}
	}
	return most
}
