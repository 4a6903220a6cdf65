// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/loopsetup"
)

// swaps returns /proc/swaps with our areas by their names in the namespace, and without those of
// the kernel's own zram devices.
func (t *table) swaps() ([]byte, error) {
	text, err := os.ReadFile(procSwaps)
	if err != nil {
		return nil, err
	}
	areas, err := loopsetup.ParseSwaps(text)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.Collect(strings.Lines(string(text)))
	shown := lines[:min(1, len(lines))]
	for i := range areas {
		line := lines[1+i]
		switch name := t.swapName(areas, i); {
		case name != "": // padded as by the kernel
			shown = append(shown, fmt.Sprintf("%-39s %s", name, strings.TrimLeft(line[strings.IndexAny(line, " \t"):], " \t")))
		case !isZram(filepath.Base(areas[i].Path)):
			shown = append(shown, line)
		}
	}
	return []byte(strings.Join(shown, "")), nil
}

// swapName returns the name of a swap area in the namespace if it is ours. The caller holds the
// lock.
func (t *table) swapName(areas []loopsetup.Swap, i int) string {
	for _, z := range t.zrams {
		if areas[i].Path == z.loop || z.swappedAs(areas) == &areas[i] && errors.Is(inUse(z.loop), unix.EBUSY) {
			return "/dev/" + z.name
		}
	}
	return ""
}
