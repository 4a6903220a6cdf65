// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Size writes a number of bytes as zramctl, lsblk and losetup do: one letter, powers of 1024,
// at most one decimal (0B, 4K, 173.5M, 1G). The unit is the largest that is not larger than n;
// tenths are rounded half up, and a number rounded up to 1024 keeps its unit (1024M, not 1G).
func Size(n uint64) string {
	const letters = "BKMGTPE"
	exp := 0
	for exp < len(letters)-1 && n>>(10*(exp+1)) > 0 {
		exp++
	}
	unit := uint64(1) << (10 * exp)
	whole, rest := n/unit, n%unit
	tenths := (rest*10 + unit/2) / unit // rest < 2^60, so this cannot overflow
	if tenths == 10 {
		whole, tenths = whole+1, 0
	}
	text := strconv.FormatUint(whole, 10)
	if tenths > 0 {
		text += "." + strconv.FormatUint(tenths, 10)
	}
	return text + letters[exp:exp+1]
}

// ExactSize is Size where that is exact, else the number of KiB, or of bytes.
func ExactSize(n uint64) string {
	text := Size(n)
	if again, err := ParseBytes(text, 0); err == nil && again == n {
		return text
	}
	if n%1024 == 0 {
		return fmt.Sprintf("%dK", n/1024)
	}
	return fmt.Sprintf("%d bytes", n)
}

// SizesApart writes two sizes as Size does, or exactly where that would write the same.
func SizesApart(a, b uint64) (string, string) {
	if Size(a) == Size(b) {
		return ExactSize(a), ExactSize(b)
	}
	return Size(a), Size(b)
}

// Grouped writes a number with a comma between thousands.
func Grouped(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Pages writes a number of pages: 1 page, 11,509 pages.
func Pages(n uint64) string {
	if n == 1 {
		return "1 page"
	}
	return Grouped(n) + " pages"
}

// Time writes a duration with its two largest units: 42s, 12m5s, 3h12m, 5d3h.
func Time(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%dm", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%dd%dh", s/86400, s%86400/3600)
}

// Share writes part of whole in per cent. 0% and 100% are exact; shares near them are <1% and >99%.
func Share(part, whole uint64) string {
	if whole == 0 {
		return "0%"
	}
	percent := float64(part) / float64(whole) * 100
	switch {
	case part > 0 && percent < 1:
		return "<1%"
	case part < whole && percent > 99:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", percent)
}

// Plural writes a number with its noun: one for 1, more for any other.
func Plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// ShareOf writes a share between 0 and 1 as Share does.
func ShareOf(share float64) string {
	const whole = 1 << 40
	return Share(uint64(share*whole), whole)
}

// OneLine joins the lines of a message, such as those of errors.Join, with semicolons, and makes it
// printable.
func OneLine(s string) string {
	return Printable(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}

// ShellWord writes a word as a shell takes it, in quotes if it needs them, and so that a terminal
// does not obey it.
func ShellWord(word string) string {
	if Printable(word) != word {
		return "$'" + Printable(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(word)) + "'" // ANSI-C quoting
	}
	if strings.ContainsFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_=:,./%+", r))
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Ratio writes a ratio as zramctl users know it: 4.74.
func Ratio(ratio float64) string { return strconv.FormatFloat(ratio, 'f', 2, 64) }
