// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strconv"
	"testing"
)

// eachCode runs f for every code, as a subtest.
func eachCode(t *testing.T, f func(t *testing.T, segment, number int, c *code)) {
	t.Helper()
	for segment := range codes {
		for number, c := range codes[segment] {
			if (c != nil) != (number < 1<<choiceBits[segment]) {
				t.Errorf("%s %d: is there, or is not, against the header", segmentNames[segment], number)
			}
			if c != nil {
				t.Run(segmentNames[segment]+" "+strconv.Itoa(number), func(t *testing.T) { f(t, segment, number, c) })
			}
		}
	}
}

// The document has the lengths of the code, one for one.
func TestCodesAreDocumented(t *testing.T) {
	documented, err := denseDocument()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	eachCode(t, func(t *testing.T, segment, number int, c *code) {
		seen++
		lengths := documented[segmentNames[segment]+" "+strconv.Itoa(number)]
		if len(lengths) != 256+c.favourites {
			t.Fatalf("%d lengths are documented, the code has %d", len(lengths), 256+c.favourites)
		}
		for symbol, length := range lengths {
			if c.length(symbol) != length {
				t.Errorf("symbol %d: the length is %d, documented as %d", symbol, c.length(symbol), length)
			}
		}
	})
	if seen != len(documented) {
		t.Errorf("%d codes, %d are documented", seen, len(documented))
	}
}

// Every code says every byte, uses all strings of bits, and none twice.
func TestCodesAreComplete(t *testing.T) {
	eachCode(t, func(t *testing.T, _, _ int, c *code) {
		if c.favourites < 0 || c.favourites > maxFavourites {
			t.Fatalf("%d favourites", c.favourites)
		}
		used := 0
		for symbol := range 256 + c.favourites {
			if n := c.length(symbol); n < 1 || n > maxCode {
				t.Fatalf("symbol %d has %d bits", symbol, n)
			} else {
				used += 1 << (maxCode - n)
			}
		}
		if used != 1<<maxCode {
			t.Errorf("%d of %d strings of bits are used", used, 1<<maxCode)
		}
	})
}

// The code that encodes a symbol decodes to it, whatever comes behind.
func TestCodesDecodeWhatTheyEncode(t *testing.T) {
	eachCode(t, func(t *testing.T, _, _ int, c *code) {
		for symbol := range 256 + c.favourites {
			bits, length := int(c.encode[symbol]>>lengthBits), c.length(symbol)
			for behind := range 1 << (maxCode - length) {
				if got := c.decode[bits|behind<<length]; int(got>>lengthBits) != symbol || int(got&lengthMask) != length {
					t.Fatalf("symbol %d of %d bits is decoded as %d of %d", symbol, length, got>>lengthBits, got&lengthMask)
				}
			}
		}
	})
}

// Codes of one length are numbered in the order of their symbols, those that are longer behind
// those that are shorter.
func TestCodesAreCanonical(t *testing.T) {
	eachCode(t, func(t *testing.T, _, _ int, c *code) {
		last := -1
		for length := 1; length <= maxCode; length++ {
			for symbol := range 256 + c.favourites {
				if c.length(symbol) != length {
					continue
				}
				number := reversed(int(c.encode[symbol]>>lengthBits), length) << (maxCode - length)
				if number <= last {
					t.Fatalf("symbol %d is not behind the one before it", symbol)
				}
				last = number
			}
		}
	})
}

// The lengths of all bytes in all codes are summed up at once, 16 bits each.
func TestCostsHaveRoom(t *testing.T) {
	if Size*maxCode >= 1<<16 {
		t.Error("a page of the longest codes has too many bits")
	}
	eachCode(t, func(t *testing.T, segment, number int, c *code) {
		for b := range 256 {
			if got := int(costs[segment][b] >> (16 * number) & 0xffff); got != c.length(b) {
				t.Fatalf("byte %d costs %d, its code has %d bits", b, got, c.length(b))
			}
		}
	})
}
