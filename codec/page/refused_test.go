// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"testing"
)

// A crafted object is put together by hand.
type crafted struct {
	name             string
	literals, tokens int      // the counts in its header
	body             [][]byte // what comes behind it, in parts
	valid            bool
}

// of and times make parts.
func of(part ...byte) []byte           { return part }
func times(n int, part ...byte) []byte { return slices.Repeat(part, n) }
func parts(part ...[]byte) [][]byte    { return part }
func (c *crafted) object() (object []byte) {
	counts := c.literals | c.tokens<<12
	return append(of(byte(counts), byte(counts>>8), byte(counts>>16)), slices.Concat(c.body...)...)
}

// Objects that the format refuses, each with one that it takes and that differs as little as may
// be. Token 8 is one literal; 0, 1 and 7 are matches of 1, 2 and 48 bytes at the last distance, 75
// is one of 2 at the second, 181 one of 3 at a near distance and 238 one of 4 or more at a far one.
// Behind 255 the byte 254 stands for 4080 bytes.
var craftedObjects = []crafted{
	{"a literal repeated", 1, 17, parts(of(7, 254, 8, 255), times(15, 0)), true},
	{"one byte too few", 1, 16, parts(of(7, 254, 8, 255), times(14, 0)), false},
	{"one byte too many", 1, 18, parts(of(7, 254, 8, 255), times(16, 0)), false},
	{"48 bytes too many", 1, 18, parts(of(7, 254, 8, 255), times(15, 0), of(7)), false},
	{"a run too long", 1, 2, parts(of(7, 255, 8, 255)), false},
	{"two runs", 1, 3, parts(of(7, 254, 254, 8, 255, 255)), false},

	{"a match before any byte", 0, 17, parts(of(254, 0, 255), times(15, 0)), false},
	{"a run before any byte", 0, 1, parts(of(255, 255)), false},
	{"second distance at 8", 1, 31, parts(of(7, 253, 8), times(7, 0), of(75, 255), times(20, 0), of(1)), true},
	{"second distance at 7", 1, 31, parts(of(7, 253, 8), times(6, 0), of(75, 255), times(21, 0), of(1)), false},
	{"near distance of 1 at 1", 1, 15, parts(of(7, 0, 254, 8, 181, 255), times(12, 0)), true},
	{"near distance of 2 at 1", 1, 15, parts(of(7, 1, 254, 8, 181, 255), times(12, 0)), false},
	{"far distance of 1 at 1", 1, 14, parts(of(7, 254, 1, 0, 8, 238, 255), times(11, 0)), true},
	{"far distance of 2 at 1", 1, 14, parts(of(7, 254, 2, 0, 8, 238, 255), times(11, 0)), false},
	{"far distance of 0", 1, 14, parts(of(7, 254, 0, 0, 8, 238, 255), times(11, 0)), false},
	{"far distance of 4095 at 1", 1, 14, parts(of(7, 254, 0xff, 0x0f, 8, 238, 255), times(11, 0)), false},
	{"far match of 15 more", 1, 14, parts(of(7, 253, 1, 0xf0, 8, 238, 255), times(10, 0), of(1)), true},
	{"far match of 15 more, too long", 1, 14, parts(of(7, 253, 1, 0xf0, 8, 238, 255), times(9, 0), times(2, 1)), false},
	{"far match of 11 more", 1, 3, parts(of(7, 254, 1, 0xb0, 8, 238, 255)), true},
	{"far match of 12 more", 1, 3, parts(of(7, 254, 1, 0xc0, 8, 238, 255)), false},

	{"a literal that is not there", 0, 17, parts(of(254, 8, 255), times(15, 0)), false},
	{"a literal left over", 2, 17, parts(of(7, 7, 254, 8, 255), times(15, 0)), false},
	{"a run of literals that are not there", 31, 3, parts(times(31, 7), of(1, 252, 254, 255, 7)), false},
	{"a run of literals", 32, 3, parts(times(32, 7), of(1, 250, 254, 255, 7)), true},
	{"a near byte left over", 1, 17, parts(of(7, 254, 0, 8, 255), times(15, 0)), false},
	{"a far word left over", 1, 17, parts(of(7, 254, 1, 0, 8, 255), times(15, 0)), false},
	{"no near byte", 1, 17, parts(of(7, 8, 255), times(15, 0)), false},
	{"no near byte at the end", 1, 17, parts(of(7, 254, 8, 255), times(14, 0), of(255)), false},
	{"half a far word", 1, 2, parts(of(7, 1, 8, 238)), false},
	{"half a far word, the other half taken", 1, 14, parts(of(7, 1, 0, 8, 255, 238), times(11, 0)), false},
	{"a near byte that a far word has taken", 1, 14, parts(of(7, 1, 0, 8, 238, 255), times(11, 0)), false},
	{"a far word half of which is the literal", 3, 3, parts(of(7, 7, 1, 0, 8, 8, 238)), false},

	// Without the token that is wrong these would be pages.
	{"a run without a near byte, and a page", 1, 102, parts(of(7, 8), times(85, 7), of(255), times(15, 0)), false},
	{"a run before any byte, and a page", 1, 102, parts(of(7, 0, 255, 8), times(85, 7), times(15, 0)), false},
	{"a run of literals that are not there, and a page", 1, 102, parts(of(7, 0, 8, 254), times(85, 7), times(15, 0)), false},
	{"a far distance of 0, and a page", 1, 102, parts(of(7, 0, 0, 8, 238), times(85, 7), times(15, 0)), false},
	{"a run too long at the end of a page", 1, 102, parts(of(7, 0, 8), times(85, 7), times(15, 0), of(255)), false},
	{"a literal too many at the end of a page", 1, 102, parts(of(7, 8), times(85, 7), times(15, 0), of(8)), false},

	{"counts that overlap", 1, 17, parts(of(254, 8, 255), times(14, 0)), false},
	{"more tokens than bytes", 0, 4095, parts(times(100, 8)), false},
	{"more literals than bytes", 4095, 0, parts(times(100, 8)), false},
	{"the most that can be counted", 4095, 4095, parts(times(100, 8)), false},
	{"no tokens", 0, 0, nil, false},
	{"no tokens, but the rest", 1, 0, parts(of(7, 254)), false},
	{"4095 bytes", 4064, 27, parts(times(4064, 7), of(253, 254), times(20, 0), times(6, 1)), true},
	{"4096 bytes", 4064, 28, parts(times(4064, 7), of(253, 254), times(22, 0), times(5, 1)), false},
}

func TestWhatIsRefused(t *testing.T) {
	for _, c := range craftedObjects {
		t.Run(c.name, func(t *testing.T) {
			if valid := judge(t, c.object()); valid != c.valid {
				t.Errorf("valid is %v, want %v", valid, c.valid)
			}
		})
	}
}

// Objects of every length about the shortest and the longest that can be.
func TestLengthsOfObjects(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, MaxObject - 1, MaxObject, MaxObject + 1, 2 * Size} {
		if judge(t, make([]byte, n)) {
			t.Errorf("%d bytes of zero are an object", n)
		}
	}
}
