// SPDX-License-Identifier: Apache-2.0

package podswap

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// powers are the suffixes, as powers of ten and of two.
var powers = map[string]struct{ ten, two int }{
	"n": {-9, 0}, "u": {-6, 0}, "m": {-3, 0}, "": {0, 0}, "k": {3, 0}, "M": {6, 0}, "G": {9, 0}, "T": {12, 0}, "P": {15, 0}, "E": {18, 0},
	"Ki": {0, 10}, "Mi": {0, 20}, "Gi": {0, 30}, "Ti": {0, 40}, "Pi": {0, 50}, "Ei": {0, 60},
}

// ParseQuantity returns the bytes of a quantity, rounded up and bounded by math.MaxInt64 as
// Kubernetes does. It takes all that the API server takes of an amount of memory: a pod with
// an odd one must not hide the others. It is exact below 2^53.
func ParseQuantity(text string) (uint64, error) {
	suffix := strings.TrimLeft(text, "+-.0123456789")
	power, known := powers[suffix]
	var err error
	if !known && (suffix[0] == 'e' || suffix[0] == 'E') {
		power.ten, err = strconv.Atoi(suffix[1:])
		known = err == nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, suffix)+"e"+strconv.Itoa(power.ten), 64)
	if !known || err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 {
		return 0, fmt.Errorf("%q is no quantity of bytes", text)
	}
	if n = math.Ceil(math.Ldexp(n, power.two)); n >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return uint64(n), nil
}
