// SPDX-License-Identifier: Apache-2.0

package page

// Where the distance of a token's match comes from.
const (
	rep0 = iota // the last distance
	rep1        // the one before it, and so on
	rep2
	rep3
	near // one byte of the stream of distances
	far  // two bytes of it: 12 bits of distance and, above, 4 bits that are added to the length
	kinds
)

// The tokens behind those of the alphabet. Each has a byte b in the stream of near distances and
// stands for 16(b+1) bytes.
const (
	literalRun = 254 // literals
	matchRun   = 255 // a match at the last distance
	runUnit    = 16
)

// farExtra is the largest number that a far distance's upper bits add to the length.
const farExtra = 15

// maxLiterals is the largest number of literals that a token says, and maxLength the longest match.
const (
	maxLiterals = 16
	maxLength   = 48
)

// A token says that literals are copied from their stream and that a match follows them. A length
// of zero is no match; the kind is then rep0, so that the distances stay as they are.
type token struct {
	literals, length, kind uint8
}

// A tokenGroup is the tokens of a kind and number of literals, by their lengths.
type tokenGroup struct {
	kind, literals uint8
	lengths        []uint8
}

// alphabet holds the tokens in the order of their numbers: of each kind and number of literals, the
// lengths. These are the combinations that saved most on pages of five programs (python, gcc, java,
// awk and git), and all that are needed to say anything. It is part of the format and never
// changes.
var alphabet = []tokenGroup{
	{rep0, 0, []uint8{1, 2, 3, 4, 8, 16, 32, 48}},
	{rep0, 1, []uint8{0, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 15, 19, 22, 23, 24, 27, 30, 31, 47}},
	{rep0, 2, []uint8{0, 2, 3, 4, 5, 6, 7, 10, 13, 14, 15, 18, 22, 23, 26, 30, 34, 38, 46}},
	{rep0, 3, []uint8{0, 2, 3, 4, 5, 6, 13}},
	{rep0, 4, []uint8{0, 3, 4, 12, 26, 28, 36, 40, 44}},
	{rep0, 5, []uint8{3}},
	{rep0, 6, []uint8{2}},
	{rep0, 7, []uint8{2, 3, 4}},
	{rep0, 8, []uint8{0, 16}},
	{rep0, 10, []uint8{2, 6, 14}},
	{rep0, 16, []uint8{0}},
	{rep1, 0, []uint8{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 20, 21, 22, 24, 25, 28, 32, 33, 40, 48}},
	{rep1, 1, []uint8{2, 3, 6, 7, 8, 11, 14, 15, 18, 19, 23, 27, 31}},
	{rep1, 2, []uint8{2, 3, 6, 7, 14, 15, 22, 30}},
	{rep1, 3, []uint8{5, 13}},
	{rep1, 4, []uint8{26, 28, 36, 40}},
	{rep1, 6, []uint8{2}},
	{rep2, 0, []uint8{2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 15, 16, 17, 20, 24, 25, 32, 48}},
	{rep2, 1, []uint8{3, 6, 7, 8, 15, 23}},
	{rep2, 2, []uint8{2, 3, 6, 7, 14}},
	{rep2, 3, []uint8{5, 13}},
	{rep2, 4, []uint8{36}},
	{rep3, 0, []uint8{2, 3, 4, 7, 8, 9, 12, 16, 24, 32}},
	{rep3, 1, []uint8{3, 6, 7, 15}},
	{rep3, 2, []uint8{3, 6, 7, 14}},
	{rep3, 3, []uint8{5, 13}},
	{rep3, 4, []uint8{36}},
	{near, 0, []uint8{3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 24, 25, 28, 32, 33, 40, 48}},
	{near, 1, []uint8{5, 6, 7, 8, 9, 11, 14, 15, 19, 23, 27, 31}},
	{near, 2, []uint8{5, 6, 7, 10, 14, 18, 22}},
	{near, 3, []uint8{5, 6, 7, 13, 29}},
	{near, 4, []uint8{7, 28}},
	{near, 5, []uint8{5, 7, 13}},
	{near, 6, []uint8{5, 6}},
	{near, 9, []uint8{7}},
	{near, 10, []uint8{6, 26}},
	{far, 0, []uint8{4, 20}},
	{far, 1, []uint8{4, 20}},
	{far, 2, []uint8{4, 20}},
	{far, 3, []uint8{4, 20}},
	{far, 4, []uint8{4}},
	{far, 5, []uint8{4}},
	{far, 6, []uint8{4}},
	{far, 7, []uint8{4}},
	{far, 8, []uint8{4}},
	{far, 9, []uint8{4}},
	{far, 10, []uint8{4}},
	{far, 11, []uint8{4}},
}

// tokens is the alphabet by number, and for the two runs what is repeated b+1 times.
var tokens = tokensOf(alphabet)

func tokensOf(alphabet []tokenGroup) (t [256]token) {
	n := 0
	for _, group := range alphabet {
		for _, length := range group.lengths {
			t[n] = token{group.literals, length, group.kind}
			n++
		}
	}
	t[literalRun] = token{literals: runUnit}
	t[matchRun] = token{length: runUnit}
	return t
}
