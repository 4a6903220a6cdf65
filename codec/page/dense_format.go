// SPDX-License-Identifier: Apache-2.0

package page

// The segments of a dense object, in the order in which they are coded. They are the streams of a
// plain object, with the far words as two.
const (
	tokenSegment = iota
	literalSegment
	nearSegment
	farLowSegment
	farHighSegment
	segments
)

// choiceBits is how many bits of the header say which code a segment is in.
var choiceBits = [segments]int{2, 2, 2, 1, 1}

// denseHeader is the size in bytes of a dense object's beginning: 12 bits with the number of
// literals, 12 with that of tokens, the segments' choices of codes, all from the lowest bit on, and
// a byte that says by how much, as a signed number, the border between the regions of lanes lies
// behind the middle of both.
const denseHeader = 5

// The least and the largest that the border's byte can say.
const (
	minBorder = -128
	maxBorder = 127
)

// rawLengths makes a code in which every byte takes eight bits.
const rawLengths = "8888888888888888888888888888888888888888888888888888888888888888" +
	"8888888888888888888888888888888888888888888888888888888888888888" +
	"8888888888888888888888888888888888888888888888888888888888888888" +
	"8888888888888888888888888888888888888888888888888888888888888888"

// codes are all codes, by segment and by number. It is immutable once made.
var codes = makeCodes()

func makeCodes() (all [segments][4]*code) {
	for segment, list := range codeLengths {
		for i, lengths := range list {
			all[segment][i] = newCode(lengths)
		}
	}
	return all
}

// near and far count the tokens that have a near byte, and a far word, by number: the upper half
// and the lower half.
const (
	oneNear = 1 << 16
	oneFar  = 1
)

// distanceCounts says of each token whether it has a near byte or a far word. It is immutable once
// made.
var distanceCounts = func() (counts [256]uint32) {
	for i, t := range tokens {
		switch {
		case i >= literalRun || t.kind == near:
			counts[i] = oneNear
		case t.kind == far:
			counts[i] = oneFar
		}
	}
	return counts
}()

// countDistances returns how many near bytes and far words the tokens have.
func countDistances(tokens []byte) (nears, fars int) {
	var sum uint32
	for _, t := range tokens {
		sum += distanceCounts[t]
	}
	return int(sum / oneNear), int(sum % oneNear)
}

// borderOf returns the size of the first region of two that need some bytes each, and of the second
// one, and what the header says of them. If they are too unequal the smaller one gets more than it
// needs.
func borderOf(first, second int) (region0, region1, border int) {
	switch border = first - (first+second)/2; {
	case border > maxBorder:
		return first, first - 2*maxBorder, maxBorder
	case border < minBorder:
		return second + 2*minBorder, second, minBorder
	}
	return first, second, border
}
