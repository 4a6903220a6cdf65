// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strconv"
	"time"
)

// humanSize writes a number of bytes as zramctl, lsblk and losetup do: one letter, powers of 1024,
// at most one decimal (0B, 4K, 173.5M, 1G). The unit is the largest that is not larger than n;
// tenths are rounded half up, and what is rounded up to 1024 keeps its unit (1024M, not 1G).
func humanSize(n uint64) string {
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

// exactSize is humanSize where that loses nothing, and the number of bytes where it would.
func exactSize(n uint64) string {
	text := humanSize(n)
	if again, err := parseQuantity(text, 0); err == nil && again == n {
		return text
	}
	return fmt.Sprintf("%d bytes", n)
}

// grouped writes a number with a comma between thousands.
func grouped(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// pageCount is a number of pages in words.
func pageCount(n uint64) string {
	if n == 1 {
		return "1 page"
	}
	return grouped(n) + " pages"
}

// humanTime writes a duration with its two largest units: 42s, 12m5s, 3h12m, 5d3h.
func humanTime(d time.Duration) string {
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

// humanShare writes part of whole in per cent, 0 and 100 only where they are exact.
func humanShare(part, whole uint64) string {
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
