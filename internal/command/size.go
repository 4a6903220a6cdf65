// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

const pageSize = 4096

// parseSize reads the size of a device: auto (that of the machine's class), a number with a unit,
// or a percentage of ram, which is in bytes. Units are those of zramctl: K and KiB are 1024, KB is
// 1000, and so on. The result is rounded up to whole pages, as zram does. Errors are usage errors.
func parseSize(text string, ram uint64) (uint64, error) {
	if text == "auto" {
		if ram == 0 {
			return 0, usageError("size auto: the size of RAM is not known; name a size, as 4G")
		}
		return estimate.ClassOf(ram).Size, nil
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

// checkSwapSize refuses a size that has no room for a swap area. Text is the size as it was typed.
func checkSwapSize(text string, size uint64) error { return checkSize(text, size, swapdev.MinArea) }

// checkSize refuses a size below the least. Text is the size as it was typed: a number without a
// unit was hardly meant in bytes.
func checkSize(text string, size, least uint64) error {
	number, isNumber := term.ParseDecimal(text)
	if size >= least && !(isNumber && number.Whole() < least) { // size is whole pages
		return nil
	}
	if !isNumber {
		return usageError("size %q: %s is too small; at least %s is needed", text, term.Size(size), term.Size(least))
	}
	meant := "G"
	if number.Whole() >= 1024 {
		meant = "M"
	}
	return usageError("size %q: %s bytes is too small; at least %s is needed. Did you mean %s?",
		text, text, term.Size(least), text+meant)
}

// thousandsWarnings returns a warning for each size, on the command line or in the configuration,
// that counts by 1000 and so is less than it seems.
func thousandsWarnings(c *cli.Context) (all []string) {
	for _, flag := range []string{flagSize, flagMemLimit, flagSpillDaily} {
		text := c.String(flag)
		if n, err := term.ParseBytes(text, 0); err == nil && term.ByThousands(text) {
			all = append(all, fmt.Sprintf("--%s %s is %s: %s", flag, text, term.Size(n), thousandsHelp))
		}
	}
	return all
}

const thousandsHelp = "KB, MB and GB count by 1000, K, M and G by 1024"

// parseLimit reads a memory limit: as parseSize, without auto, and with 0 for no limit.
func parseLimit(text string, ram uint64) (uint64, error) {
	n, err := term.ParseBytes(text, ram)
	if err != nil {
		return 0, usageError("memory limit %q: %w", text, err)
	}
	return n, nil
}
