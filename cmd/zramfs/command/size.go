// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
)

const (
	pageSize  = 4096
	maxSize   = 16 << 40 // the largest device, and so the largest limit that means anything
	autoLimit = 4 << 30  // what zram-generator makes the default: min(ram / 2, 4096 MiB)
)

// sizeHint ends every error about a size.
const sizeHint = "write bytes or K, M, G or T (of 1024), as 4G, or a share of RAM, as 50%"

// parseSize reads the size of a device: auto (the smaller of half of RAM and 4 GiB), a number with
// a unit, or a percentage of ram, which is in bytes. Units are those of zramctl: K and KiB are
// 1024, KB is 1000, and so on. The result is rounded up to whole pages, as zram does. Errors are
// usage errors.
func parseSize(text string, ram uint64) (uint64, error) {
	if text == "auto" {
		if ram == 0 {
			return 0, usageError("size auto: the size of RAM is not known; name a size, as 4G")
		}
		return roundToPages(min(ram/2, autoLimit)), nil
	}
	n, err := parseQuantity(text, ram)
	if err != nil {
		return 0, usageError("size %q: %w", text, err)
	}
	if n == 0 {
		return 0, usageError("size %q: a device of no size cannot be made; %s", text, sizeHint)
	}
	return n, nil
}

// checkSwapSize refuses a size that has no room for a swap area. Text is the size as it was typed:
// a number without a unit was hardly meant in bytes.
func checkSwapSize(text string, size uint64) error {
	if size >= minSlice {
		return nil
	}
	number, isNumber := parseDecimal(text)
	if !isNumber {
		return usageError("size %q: %s is too small; at least %s is needed", text, humanSize(size), humanSize(minSlice))
	}
	meant := "G"
	if number.Cmp(big.NewRat(1024, 1)) >= 0 {
		meant = "M"
	}
	return usageError("size %q: %s bytes is too small; at least %s is needed. Did you mean %s?",
		text, text, humanSize(minSlice), text+meant)
}

// parseLimit reads a memory limit: as parseSize, without auto, and with 0 for no limit.
func parseLimit(text string, ram uint64) (uint64, error) {
	n, err := parseQuantity(text, ram)
	if err != nil {
		return 0, usageError("memory limit %q: %w", text, err)
	}
	return n, nil
}

// parseQuantity reads a number of bytes, rounded up to whole pages, at most maxSize.
func parseQuantity(text string, ram uint64) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errors.New("it is negative; " + sizeHint)
	}
	digits := strings.TrimRight(text, "%BKMGTPEbkmgtpei")
	number, ok := parseDecimal(digits)
	if !ok {
		return 0, errors.New("it is not a size; " + sizeHint)
	}
	unit, err := unitOf(text[len(digits):], ram)
	if err != nil {
		return 0, err
	}
	number.Mul(number, unit)
	if number.Cmp(new(big.Rat).SetInt64(maxSize)) > 0 {
		return 0, fmt.Errorf("it is beyond %s, the largest that can be", humanSize(maxSize))
	}
	return roundToPages(ceil(number)), nil
}

// parseDecimal reads digits with at most one point in them. The length is bounded, and an exponent
// or a fraction, which big.Rat would read, refused.
func parseDecimal(s string) (*big.Rat, bool) {
	if s == "" || len(s) > 40 || strings.Trim(s, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// unitOf returns the bytes that one of a unit is.
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
		return nil, fmt.Errorf("%q is not a unit; %s", suffix, sizeHint)
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

func roundToPages(n uint64) uint64 {
	return (n + pageSize - 1) / pageSize * pageSize
}

// machineRAM returns the RAM that the kernel manages, in bytes: MemTotal of /proc/meminfo
// (proc(5)). A limit of the caller's control group does not matter here: swap serves the whole
// machine.
func machineRAM() (uint64, error) {
	return memTotal("/proc/meminfo")
}

func memTotal(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the size of RAM: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kib, err := strconv.ParseUint(fields[1], 10, 54)
			if err != nil {
				return 0, fmt.Errorf("read the size of RAM: %s: %w", path, err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("read the size of RAM: no MemTotal in %s", path)
}
