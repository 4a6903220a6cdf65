// SPDX-License-Identifier: Apache-2.0

package kernels

import "encoding/binary"

// Kinds of tokens in the entries of [PageTable]: ranks of remembered distances from 0 on, then
// these.
const (
	kindNear         = 4 // a near byte is the distance
	kindFar          = 5 // a far word is the distance
	kindLiteralRun   = 6 // a near byte counts literals
	kindMatchRun     = 7 // a near byte counts bytes of a match
	literalRunNumber = 254
	matchRunNumber   = 255
	runUnit          = 16
)

// An entry of the table has the literals in its lowest byte, the length in the second and the kind
// in the third.
const (
	entryLength = 8
	entryKind   = 16
)

// PageTableSize is the size of the table that [PageDecompress] and [PageVerify] read, in bytes.
const PageTableSize = 256 * 4

// alphabet is the table of docs/page-format.md, tokens 0 to 253 in order: a kind, a number of
// literals, and the lengths.
var alphabet = []struct {
	kind, literals uint32
	lengths        []uint32
}{
	{0, 0, []uint32{1, 2, 3, 4, 8, 16, 32, 48}},
	{0, 1, []uint32{0, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 15, 19, 22, 23, 24, 27, 30, 31, 47}},
	{0, 2, []uint32{0, 2, 3, 4, 5, 6, 7, 10, 13, 14, 15, 18, 22, 23, 26, 30, 34, 38, 46}},
	{0, 3, []uint32{0, 2, 3, 4, 5, 6, 13}},
	{0, 4, []uint32{0, 3, 4, 12, 26, 28, 36, 40, 44}},
	{0, 5, []uint32{3}},
	{0, 6, []uint32{2}},
	{0, 7, []uint32{2, 3, 4}},
	{0, 8, []uint32{0, 16}},
	{0, 10, []uint32{2, 6, 14}},
	{0, 16, []uint32{0}},
	{1, 0, []uint32{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 20, 21, 22, 24, 25, 28, 32, 33, 40, 48}},
	{1, 1, []uint32{2, 3, 6, 7, 8, 11, 14, 15, 18, 19, 23, 27, 31}},
	{1, 2, []uint32{2, 3, 6, 7, 14, 15, 22, 30}},
	{1, 3, []uint32{5, 13}},
	{1, 4, []uint32{26, 28, 36, 40}},
	{1, 6, []uint32{2}},
	{2, 0, []uint32{2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 15, 16, 17, 20, 24, 25, 32, 48}},
	{2, 1, []uint32{3, 6, 7, 8, 15, 23}},
	{2, 2, []uint32{2, 3, 6, 7, 14}},
	{2, 3, []uint32{5, 13}},
	{2, 4, []uint32{36}},
	{3, 0, []uint32{2, 3, 4, 7, 8, 9, 12, 16, 24, 32}},
	{3, 1, []uint32{3, 6, 7, 15}},
	{3, 2, []uint32{3, 6, 7, 14}},
	{3, 3, []uint32{5, 13}},
	{3, 4, []uint32{36}},
	{kindNear, 0, []uint32{3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 24, 25, 28, 32, 33, 40, 48}},
	{kindNear, 1, []uint32{5, 6, 7, 8, 9, 11, 14, 15, 19, 23, 27, 31}},
	{kindNear, 2, []uint32{5, 6, 7, 10, 14, 18, 22}},
	{kindNear, 3, []uint32{5, 6, 7, 13, 29}},
	{kindNear, 4, []uint32{7, 28}},
	{kindNear, 5, []uint32{5, 7, 13}},
	{kindNear, 6, []uint32{5, 6}},
	{kindNear, 9, []uint32{7}},
	{kindNear, 10, []uint32{6, 26}},
	{kindFar, 0, []uint32{4, 20}},
	{kindFar, 1, []uint32{4, 20}},
	{kindFar, 2, []uint32{4, 20}},
	{kindFar, 3, []uint32{4, 20}},
	{kindFar, 4, []uint32{4}},
	{kindFar, 5, []uint32{4}},
	{kindFar, 6, []uint32{4}},
	{kindFar, 7, []uint32{4}},
	{kindFar, 8, []uint32{4}},
	{kindFar, 9, []uint32{4}},
	{kindFar, 10, []uint32{4}},
	{kindFar, 11, []uint32{4}},
}

// PageTable returns the table of tokens that the kernels of the page format want in global memory,
// aligned to 16 bytes.
func PageTable() []byte {
	table := make([]byte, 0, PageTableSize)
	for _, row := range alphabet {
		for _, length := range row.lengths {
			table = binary.LittleEndian.AppendUint32(table, row.literals|length<<entryLength|row.kind<<entryKind)
		}
	}
	table = binary.LittleEndian.AppendUint32(table, kindLiteralRun<<entryKind)
	return binary.LittleEndian.AppendUint32(table, kindMatchRun<<entryKind)
}
