// SPDX-License-Identifier: Apache-2.0

package page

import (
	"errors"
	"math/bits"
)

// ClusterPages is how many pages a cluster has room for.
const ClusterPages = 8

// MaxClusterObject is the length in bytes of the longest object of a cluster: one as long as
// the pages gains nothing.
const MaxClusterObject = ClusterPages * Size

const (
	// clusterHeader is the size in bytes of the part of an object's beginning that is there
	// always.
	clusterHeader = 7
	// choiceWidth is how many bits say which code a segment is in, and ownChoice is the choice
	// of a code that is in the object.
	choiceWidth = 3
	ownChoice   = 1<<choiceWidth - 1
	// countWidth is how many bits hold a page's number of tokens.
	countWidth = 12
	// maxPadding is how many bytes of zeros may follow an object.
	maxPadding = 7
	// runOfLengths is the largest number of equal lengths in one symbol of a code's lengths.
	runOfLengths = 16
	// longestHeader is the size in bytes of a header with all that it may have.
	longestHeader = clusterHeader + ClusterPages*countWidth/8 + segments
)

var (
	// ErrIndex reports a number that no page of a cluster has.
	ErrIndex = errors.New("page numbers in a cluster are 0 to 7")
	// ErrNoPages reports a cluster without any page.
	ErrNoPages = errors.New("cluster has no pages")
)

// A clusterHead is what the beginning of a cluster's object says.
type clusterHead struct {
	present     uint8 // a bit for each page
	choices     [segments]int
	differences bool   // literals are differences
	regions     [2]int // their sizes in bytes
	tokens      [ClusterPages]int
	lengths     [segments]int // how many symbols give the lengths of an own code; zero without one
}

// pages is how many pages are there.
func (h *clusterHead) pages() int { return bits.OnesCount8(h.present) }

// size is how many bytes the head takes.
func (h *clusterHead) size() int {
	n := clusterHeader + (h.pages()*countWidth+7)/8
	for _, choice := range h.choices {
		if choice == ownChoice {
			n++
		}
	}
	return n
}

// put writes the head to the beginning of dst, which has room for it.
func (h *clusterHead) put(dst []byte) {
	choices := 0
	for i, choice := range h.choices {
		choices |= choice << (choiceWidth * i)
	}
	if h.differences {
		choices |= 1 << (choiceWidth * segments)
	}
	dst[0], dst[1], dst[2] = h.present, byte(choices), byte(choices>>8)
	dst[3], dst[4] = byte(h.regions[0]), byte(h.regions[0]>>8)
	dst[5], dst[6] = byte(h.regions[1]), byte(h.regions[1]>>8)
	at, pages := clusterHeader, h.pages()
	for i := 0; i < pages; i += 2 {
		counts := h.tokens[i]
		if i+1 < pages {
			counts |= h.tokens[i+1] << countWidth
			dst[at+2] = byte(counts >> 16)
		}
		dst[at], dst[at+1] = byte(counts), byte(counts>>8)
		at += 3
	}
	at -= pages % 2
	for i, choice := range h.choices {
		if choice == ownChoice {
			dst[at] = byte(h.lengths[i] - 1)
			at++
		}
	}
}

// get reads the head of an object, and reports false if there can be none or the object has
// not the length that it says.
func (h *clusterHead) get(object []byte) bool {
	if len(object) < clusterHeader || len(object) > MaxClusterObject+maxPadding {
		return false
	}
	h.present = object[0]
	choices := int(object[1]) | int(object[2])<<8
	for i := range h.choices {
		h.choices[i] = choices >> (choiceWidth * i) & ownChoice
	}
	h.differences = choices>>(choiceWidth*segments) != 0
	h.regions = [2]int{int(object[3]) | int(object[4])<<8, int(object[5]) | int(object[6])<<8}
	size := h.size()
	left := len(object) - size - h.regions[0] - h.regions[1]
	if h.present == 0 || left < 0 || left > maxPadding {
		return false
	}
	for _, b := range object[len(object)-left:] {
		if b != 0 {
			return false
		}
	}
	h.getCounts(object[clusterHeader:size])
	return true
}

// getCounts reads what is behind the part of the head that is there always.
func (h *clusterHead) getCounts(counts []byte) {
	at, pages := 0, h.pages()
	for i := 0; i < pages; i++ {
		word := int(counts[at]) | int(counts[at+1])<<8
		h.tokens[i] = word >> (4 * (i % 2)) & (1<<countWidth - 1)
		at += 1 + i%2
	}
	at += pages % 2
	for i, choice := range h.choices {
		h.lengths[i] = 0
		if choice == ownChoice {
			h.lengths[i] = int(counts[at]) + 1
			at++
		}
	}
}

// referenceOf returns how far before a literal the byte lies that it is the difference to: the
// last distance, or the least multiple of it that is no less than a vector, so that all
// literals of a token can be had at once.
func referenceOf(distance int) int {
	if distance >= runUnit {
		return distance
	}
	return int(shortReferences[distance])
}

// shortReferences holds the references of short distances. It is immutable once made.
var shortReferences = func() (t [runUnit]uint8) {
	for distance := 1; distance < runUnit; distance++ {
		t[distance] = uint8((runUnit - 1 + distance) / distance * distance)
	}
	return t
}()

// clusterSums holds what each token takes, in fields of 16 bits from the lowest on: near
// bytes, far words, literals, and runs of literals. It is immutable once made.
var clusterSums = func() (sums [256]uint64) {
	for i, t := range clusterTokens {
		switch {
		case i == literalRun:
			sums[i] = 1 | 1<<48
		case i == matchRun:
			sums[i] = 1
		case t.kind == near:
			sums[i] = 1 | uint64(t.literals)<<32
		case t.kind == far:
			sums[i] = 1<<16 | uint64(t.literals)<<32
		default:
			sums[i] = uint64(t.literals) << 32
		}
	}
	return sums
}()

// literalsOf returns how many literals tokens take in runs, whose near bytes are given.
func literalsOf(tokens, nears []byte) (literals int) {
	at := 0
	for _, number := range tokens {
		if number == literalRun {
			literals += runUnit * (int(nears[at]) + 1)
		}
		at += int(clusterSums[number] & 0xffff)
	}
	return literals
}
