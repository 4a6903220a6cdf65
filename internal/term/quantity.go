// SPDX-License-Identifier: Apache-2.0

package term

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

const (
	quantityPage = 4096     // bytes: sizes are whole pages
	MaxSize      = 16 << 40 // bytes: the largest device, and so the largest memory limit
)

// sizeHint ends every error about a size.
const SizeHint = "write bytes or K, M, G or T (of 1024), as 4G, or a share of RAM, as 50%"

// ParseBytes reads a number of bytes with a unit, or a percentage of ram, in bytes; a ram of 0
// means that its size is unknown. Units are those of zramctl: K and KiB are 1024, KB is 1000, and
// so on. It rounds up to whole pages, and refuses more than 16 TiB.
func ParseBytes(text string, ram uint64) (uint64, error) {
	n, err := ParseExactBytes(text, ram)
	return RoundToPages(n), err
}

// ParseExactBytes is ParseBytes for what need not be whole pages.
func ParseExactBytes(text string, ram uint64) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errors.New("it is negative; " + SizeHint)
	}
	digits := strings.TrimRight(text, "%BKMGTPEbkmgtpei")
	number, ok := ParseDecimal(digits)
	if !ok {
		return 0, errors.New("it is not a size; " + SizeHint)
	}
	unit, places, err := unitOf(text[len(digits):], ram)
	if err != nil {
		return 0, err
	}
	n := number.times(unit, places)
	if n > MaxSize {
		return 0, fmt.Errorf("it is beyond %s, the largest that can be", Size(MaxSize))
	}
	return n, nil
}

// A Decimal is a number with a decimal point: its digits, and how many of them are behind it.
type Decimal struct {
	digits uint64 // up to ten to the power of mostDigits
	places int    // mostPlaces at the most
}

const (
	mostDigits = 18 // of what fits into 64 bits
	mostPlaces = 15 // so that a percentage, with two places more, has mostDigits at the most
)

// ParseDecimal reads up to 40 characters, digits with at most one point in them. It rounds up after
// 15 places, and a number from ten to the power of 18 on counts as that.
func ParseDecimal(s string) (d Decimal, ok bool) {
	whole, part, _ := strings.Cut(s, ".")
	if whole+part == "" || len(s) > 40 || strings.Trim(whole+part, "0123456789") != "" {
		return d, false
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > mostDigits {
		whole = "1" + strings.Repeat("0", mostDigits)
	}
	d.places = min(len(part), mostPlaces, max(mostDigits-len(whole), 0))
	d.digits, _ = strconv.ParseUint("0"+whole+part[:d.places], 10, 64) // these are digits, and few
	if strings.Trim(part[d.places:], "0") != "" {
		d.digits++
	}
	return d, true
}

// Whole is the number without what is behind the point.
func (d Decimal) Whole() uint64 { return d.digits / tenTo(d.places) }

// times is the number times unit, divided by ten to the power of places, rounded up.
func (d Decimal) times(unit uint64, places int) uint64 {
	high, low := bits.Mul64(d.digits, unit)
	divisor := tenTo(d.places + places)
	if high >= divisor {
		return math.MaxUint64
	}
	n, rest := bits.Div64(high, low, divisor)
	if rest != 0 && n < math.MaxUint64 {
		n++
	}
	return n
}

// tenTo is ten to the power of n, up to 19.
func tenTo(n int) uint64 {
	power := uint64(1)
	for range n {
		power *= 10
	}
	return power
}

// unitOf returns the number of bytes in a unit, multiplied by ten to the power of places.
func unitOf(suffix string, ram uint64) (bytes uint64, places int, err error) {
	if suffix == "%" {
		if ram == 0 {
			return 0, 0, errors.New("the size of RAM is not known; name a size, as 4G")
		}
		return ram, 2, nil
	}
	lower := strings.ToLower(suffix)
	if lower == "" || lower == "b" {
		return 1, 0, nil
	}
	power := strings.IndexByte("kmgtpe", lower[0]) + 1
	base := uint64(1024)
	switch lower[1:] {
	case "", "ib":
	case "b":
		base = 1000
	default:
		power = 0
	}
	if power == 0 {
		return 0, 0, fmt.Errorf("%q is not a unit; %s", suffix, SizeHint)
	}
	bytes = 1
	for range power {
		bytes *= base
	}
	return bytes, 0, nil
}

// ByThousands reports whether a size has a unit of powers of 1000, as 4GB.
func ByThousands(text string) bool {
	unit := strings.ToLower(strings.TrimLeft(text, ".0123456789"))
	return len(unit) == 2 && unit[1] == 'b'
}

// RoundToPages rounds a number of bytes up to whole pages of 4096 bytes.
func RoundToPages(n uint64) uint64 {
	return (n + quantityPage - 1) / quantityPage * quantityPage
}
