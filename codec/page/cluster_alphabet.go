// SPDX-License-Identifier: Apache-2.0

package page

// clusterAlphabet holds the tokens of clusters as alphabet holds those of single pages: the
// combinations that a parse which had all of them took most often on pages of five programs
// (python, gcc, java, awk and git), and all that are needed to say anything. A far word is a
// distance of 16 bits and adds nothing to the length. It is part of the format and never
// changes.
var clusterAlphabet = []tokenGroup{
	{rep0, 0, []uint8{1, 2, 4, 6, 8, 14, 16, 32, 45, 47, 48}},
	{rep0, 1, []uint8{0, 2, 3, 4, 5, 6, 7, 8, 11, 14, 15, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 34, 35, 38, 39, 47, 48}},
	{rep0, 2, []uint8{0, 2, 5, 6, 7, 10, 13, 14, 15, 18, 22, 23, 26, 29, 30, 34, 38, 39, 46}},
	{rep0, 3, []uint8{0, 5, 6, 13, 21, 37}},
	{rep0, 4, []uint8{0, 4, 12}},
	{rep0, 5, []uint8{0, 11}},
	{rep0, 6, []uint8{0, 2, 10, 22}},
	{rep0, 7, []uint8{0, 2}},
	{rep0, 8, []uint8{0}},
	{rep0, 9, []uint8{0}},
	{rep0, 10, []uint8{0}},
	{rep0, 11, []uint8{0}},
	{rep0, 12, []uint8{0}},
	{rep0, 13, []uint8{0}},
	{rep0, 14, []uint8{0}},
	{rep0, 15, []uint8{0}},
	{rep0, 16, []uint8{0}},
	{rep1, 0, []uint8{2, 3, 4, 6, 7, 8, 12, 13, 14, 15, 16, 17, 20, 24, 32, 33, 40, 48}},
	{rep1, 1, []uint8{2, 3, 6, 7, 14, 15, 19, 23, 27, 31, 48}},
	{rep1, 2, []uint8{2, 6, 7, 10, 14, 15, 22, 23, 26, 30, 31, 34, 38}},
	{rep1, 3, []uint8{5}},
	{rep2, 0, []uint8{2, 4, 7, 8, 13, 14, 16, 17, 24, 26, 32, 33, 48}},
	{rep2, 1, []uint8{3, 6, 7, 14, 15, 19, 31}},
	{rep2, 2, []uint8{2, 6, 7, 14, 22, 30}},
	{rep2, 3, []uint8{5}},
	{rep3, 0, []uint8{4, 7, 8, 14, 16, 24, 32, 48}},
	{rep3, 1, []uint8{3, 6, 7, 14, 15, 31}},
	{rep3, 2, []uint8{6, 7, 14, 22}},
	{rep3, 3, []uint8{5}},
	{near, 0, []uint8{3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 20, 24, 25, 28, 30, 32, 40, 48}},
	{near, 1, []uint8{3, 4, 6, 7, 8, 11, 14, 15, 19, 23, 24, 27, 30, 31, 39}},
	{near, 2, []uint8{3, 6, 7, 10, 14, 18, 22, 26, 30}},
	{near, 3, []uint8{5, 13}},
	{near, 4, []uint8{4}},
	{near, 5, []uint8{3}},
	{near, 8, []uint8{16}},
	{far, 0, []uint8{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 24, 48}},
	{far, 1, []uint8{4, 5, 6, 7, 8, 11, 15}},
	{far, 2, []uint8{4, 6, 7, 14, 48}},
	{far, 3, []uint8{4, 5}},
}

// clusterTokens is clusterAlphabet by number, and for the two runs what is repeated b+1 times.
var clusterTokens = tokensOf(clusterAlphabet)

// maxJoined is the largest number of literals in front of a match in one token.
const maxJoined = 8

// An edge is a token with a match, among those with the same kind and number of literals.
type edge struct {
	length, number uint8
}

// clusterEdges holds, by kind and literals, the tokens with a match, the longest first, and by
// the length of a match that there is, where those begin that are no longer. It is immutable
// once made.
var clusterEdges = func() (edges [kinds][maxJoined + 1]struct {
	list  []edge
	start [maxLength + 1]uint8
}) {
	for length := maxLength; length > 0; length-- {
		for number, t := range clusterTokens[:literalRun] {
			if int(t.length) == length {
				e := &edges[t.kind][t.literals]
				e.list = append(e.list, edge{t.length, uint8(number)})
			}
		}
		for kind := range edges {
			for literals := range edges[kind] {
				e := &edges[kind][literals]
				e.start[length-1] = uint8(len(e.list))
			}
		}
	}
	return edges
}()

// literalTokens holds the tokens without a match by their literals. It is immutable once made.
var literalTokens = func() (numbers [maxLiterals + 1]uint8) {
	for number, t := range clusterTokens[:literalRun] {
		if t.length == 0 {
			numbers[t.literals] = uint8(number)
		}
	}
	return numbers
}()
