// SPDX-License-Identifier: Apache-2.0

package term

import (
	"errors"
	"fmt"
	"math/big"
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
	if strings.HasPrefix(text, "-") {
		return 0, errors.New("it is negative; " + SizeHint)
	}
	digits := strings.TrimRight(text, "%BKMGTPEbkmgtpei")
	number, ok := ParseDecimal(digits)
	if !ok {
		return 0, errors.New("it is not a size; " + SizeHint)
	}
	unit, err := unitOf(text[len(digits):], ram)
	if err != nil {
		return 0, err
	}
	number.Mul(number, unit)
	if number.Cmp(new(big.Rat).SetInt64(MaxSize)) > 0 {
		return 0, fmt.Errorf("it is beyond %s, the largest that can be", Size(MaxSize))
	}
	return RoundToPages(ceil(number)), nil
}

// ParseDecimal reads digits with at most one point in them. It bounds their number and refuses the
// exponents and fractions that big.Rat would read.
func ParseDecimal(s string) (*big.Rat, bool) {
	if s == "" || len(s) > 40 || strings.Trim(s, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// unitOf returns the number of bytes in a unit.
func unitOf(suffix string, ram uint64) (*big.Rat, error) {
	if suffix == "%" {
		if ram == 0 {
			return nil, errors.New("the size of RAM is not known; name a size, as 4G")
		}
		return new(big.Rat).SetFrac(new(big.Int).SetUint64(ram), big.NewInt(100)), nil
	}
	lower := strings.ToLower(suffix)
	if lower == "" || lower == "b" {
		return big.NewRat(1, 1), nil
	}
	power := strings.IndexByte("kmgtpe", lower[0]) + 1
	base := int64(1024)
	switch lower[1:] {
	case "", "ib":
	case "b":
		base = 1000
	default:
		power = 0
	}
	if power == 0 {
		return nil, fmt.Errorf("%q is not a unit; %s", suffix, SizeHint)
	}
	scale := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power)), nil)
	return new(big.Rat).SetInt(scale), nil
}

func ceil(r *big.Rat) uint64 {
	quotient, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient.Uint64()
}

// RoundToPages rounds a number of bytes up to whole pages of 4096 bytes.
func RoundToPages(n uint64) uint64 {
	return (n + quantityPage - 1) / quantityPage * quantityPage
}
