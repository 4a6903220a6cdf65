// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/zramfs/zramfs/cmd/zramfs/setup"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

const (
	pageSize  = 4096
	autoLimit = 4 << 30 // what zram-generator makes the default: min(ram / 2, 4096 MiB)
)

// parseSize reads the size of a device: auto (the smaller of half of RAM and 4 GiB), a number with
// a unit, or a percentage of ram, which is in bytes. Units are those of zramctl: K and KiB are
// 1024, KB is 1000, and so on. The result is rounded up to whole pages, as zram does. Errors are
// usage errors.
func parseSize(text string, ram uint64) (uint64, error) {
	if text == "auto" {
		if ram == 0 {
			return 0, usageError("size auto: the size of RAM is not known; name a size, as 4G")
		}
		return term.RoundToPages(min(ram/2, autoLimit)), nil
	}
	n, err := term.ParseBytes(text, ram)
	if err != nil {
		return 0, usageError("size %q: %w", text, err)
	}
	if n == 0 {
		return 0, usageError("size %q: a device of no size cannot be made; %s", text, term.SizeHint)
	}
	return n, nil
}

// checkSwapSize refuses a size that has no room for a swap area. Text is the size as it was typed:
// a number without a unit was hardly meant in bytes.
func checkSwapSize(text string, size uint64) error {
	if size >= setup.MinArea {
		return nil
	}
	number, isNumber := term.ParseDecimal(text)
	if !isNumber {
		return usageError("size %q: %s is too small; at least %s is needed", text, term.Size(size), term.Size(setup.MinArea))
	}
	meant := "G"
	if number.Whole() >= 1024 {
		meant = "M"
	}
	return usageError("size %q: %s bytes is too small; at least %s is needed. Did you mean %s?",
		text, text, term.Size(setup.MinArea), text+meant)
}

// parseLimit reads a memory limit: as parseSize, without auto, and with 0 for no limit.
func parseLimit(text string, ram uint64) (uint64, error) {
	n, err := term.ParseBytes(text, ram)
	if err != nil {
		return 0, usageError("memory limit %q: %w", text, err)
	}
	return n, nil
}
