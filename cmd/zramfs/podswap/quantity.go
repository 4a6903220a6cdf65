// SPDX-License-Identifier: Apache-2.0

package podswap

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// A Quantity is a number of bytes as Kubernetes writes it: 1Gi, 1.5G, 1e3, 128974848.
type Quantity uint64

// UnmarshalJSON reads a quantity in quotation marks, or a number.
func (q *Quantity) UnmarshalJSON(text []byte) error {
	word := string(text)
	if strings.HasPrefix(word, `"`) {
		if err := json.Unmarshal(text, &word); err != nil {
			return err
		}
	}
	n, err := ParseQuantity(word)
	*q = Quantity(n)
	return err
}

// multiples are the suffixes of whole units.
var multiples = map[string]uint64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}

// fractions are the suffixes of parts.
var fractions = map[string]uint64{"m": 1e3, "u": 1e6, "n": 1e9}

// ParseQuantity returns the bytes of a quantity, rounded up as Kubernetes does.
func ParseQuantity(text string) (uint64, error) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	whole, part, _ := strings.Cut(text[:end], ".")
	multiple, divisor := multiples[text[end:]], uint64(1)
	if d := fractions[text[end:]]; d > 0 {
		multiple, divisor = 1, d
	}
	if exponent, err := strconv.ParseUint(strings.TrimLeft(text[end:], "eE"), 10, 8); err == nil && exponent < 20 && multiple == 0 {
		for multiple = 1; exponent > 0; exponent-- {
			multiple *= 10
		}
	}
	part = strings.TrimRight(part, "0")
	if multiple == 0 || whole+part == "" && !strings.Contains(text, "0") || len(part) > 9 {
		return 0, fmt.Errorf("%q is no quantity of bytes", text)
	}
	for range part {
		if divisor > 1e18 {
			return 0, fmt.Errorf("%q is no quantity of bytes", text)
		}
		divisor *= 10
	}
	number, err := strconv.ParseUint("0"+whole+part, 10, 64)
	high, low := bits.Mul64(number, multiple)
	if err != nil || high >= divisor {
		return 0, fmt.Errorf("%q is too large", text)
	}
	bytes, rest := bits.Div64(high, low, divisor)
	if rest > 0 {
		bytes++
	}
	return bytes, nil
}
