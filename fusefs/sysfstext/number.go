// SPDX-License-Identifier: Apache-2.0

package sysfstext

import (
	"bytes"
	"math/bits"
	"strings"
	"syscall"
)

// Text returns a written value as the kernel sees it, up to a zero byte.
func Text(written []byte) string {
	if end := bytes.IndexByte(written, 0); end >= 0 {
		written = written[:end]
	}
	return string(written)
}

// Word is Text without one newline at the end: the form of names.
func Word(written []byte) string { return strings.TrimSuffix(Text(written), "\n") }

// Size reads a number of bytes as memparse does: decimal, octal after 0, hexadecimal after 0x, and
// then a suffix from K to E in either case, each 1024 times the one before. Size ignores the rest,
// and a number of more than 64 bits loses its high bits. ok is false where written has no digit at
// its start.
func Size(written []byte) (bytes uint64, ok bool) {
	text := Text(written)
	digits, base := radix(text)
	n, rest, _ := leadingNumber(digits, base)
	if rest != "" {
		if power := strings.IndexByte("kmgtpe", lower(rest[0])); power >= 0 {
			return n << (10 * (power + 1)), true
		}
	}
	return n, len(rest) < len(text)
}

// Unsigned reads a decimal number of up to that many bits, as kstrtou16 and its like do: a plus
// sign before it and a newline behind it are allowed.
func Unsigned(written []byte, size int) (uint64, error) {
	return unsigned(strings.TrimPrefix(Text(written), "+"), 10, size)
}

// UnsignedOfAnyBase is Unsigned for a number that may be octal (010) or hexadecimal (0x10).
func UnsignedOfAnyBase(written []byte, size int) (uint64, error) {
	digits, base := radix(strings.TrimPrefix(Text(written), "+"))
	return unsigned(digits, base, size)
}

// Signed reads a decimal number of up to that many bits with its sign, as kstrtoint does.
func Signed(text string, size int) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	if !negative {
		digits = strings.TrimPrefix(text, "+")
	}
	n, err := unsigned(digits, 10, 64)
	if err != nil {
		return 0, err
	}
	most := uint64(1) << (size - 1)
	switch {
	case negative && n <= most:
		return -int64(n), nil
	case !negative && n < most:
		return int64(n), nil
	}
	return 0, syscall.ERANGE
}

func unsigned(text string, base uint64, size int) (uint64, error) {
	n, rest, overflow := leadingNumber(text, base)
	switch {
	case len(rest) == len(text):
		return 0, syscall.EINVAL
	case overflow:
		return 0, syscall.ERANGE
	case rest != "" && rest != "\n":
		return 0, syscall.EINVAL
	case size < 64 && n>>size != 0:
		return 0, syscall.ERANGE
	}
	return n, nil
}

// radix finds the base of a number, and the digits behind its mark.
func radix(text string) (digits string, base uint64) {
	switch {
	case len(text) > 2 && text[0] == '0' && lower(text[1]) == 'x' && digit(text[2]) < 16:
		return text[2:], 16
	case strings.HasPrefix(text, "0"):
		return text, 8
	}
	return text, 10
}

// leadingNumber reads the digits that text begins with.
func leadingNumber(text string, base uint64) (n uint64, rest string, overflow bool) {
	for text != "" && digit(text[0]) < base {
		high, low := bits.Mul64(n, base)
		sum, carry := bits.Add64(low, digit(text[0]), 0)
		overflow = overflow || high != 0 || carry != 0
		n, text = sum, text[1:]
	}
	return n, text, overflow
}

// digit returns the value of a digit up to f, or a number beyond all bases.
func digit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case lower(c) >= 'a' && lower(c) <= 'f':
		return uint64(lower(c)-'a') + 10
	}
	return 99
}

func lower(c byte) byte { return c | 0x20 }
