// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"zramfs/loopsetup"
)

// fit is the question whether what is in swap has room elsewhere. All sizes are in bytes.
type fit struct {
	used      uint64 // in the areas that are to be turned off
	available uint64 // memory that the kernel says it can give without swapping
	otherFree uint64 // free in swap areas that do not lie in memory themselves
}

// margin is what has to be left for everybody else: the more there is to bring back, the longer it takes, and the more
// they ask for meanwhile.
func (f fit) margin() uint64 { return 32<<20 + f.used/16 }

// need is what bringing everything back takes. What the device gives back in turn as it empties is not counted: it comes
// afterwards.
func (f fit) need() uint64 {
	if f.used == 0 {
		return 0
	}
	return f.used + f.margin()
}

func (f fit) ok() bool { return f.need() == 0 || f.need() < f.available+f.otherFree }

// String says the numbers.
func (f fit) String() string {
	return fmt.Sprintf("%s in swap (%s with a margin), %s of memory available, %s free in other swap",
		humanSize(f.used), humanSize(f.need()), humanSize(f.available), humanSize(f.otherFree))
}

// checkReturn refuses to bring back what does not fit, or what cannot be brought back.
func checkReturn(out io.Writer, d device, all []device, areas []loopsetup.Swap) error {
	f, err := measureFit(all, areas)
	if err != nil {
		return err
	}
	if f.used == 0 {
		return nil
	}
	switch {
	case errors.Is(d.Err, errDead):
		return fmt.Errorf("%w: %s of swap cannot be brought back, and whoever touches those pages is killed; "+
			"--force turns it off all the same", d.Err, humanSize(f.used))
	case errors.Is(d.Err, errNoAnswer):
		return fmt.Errorf("%w: turning swap off would wait for it; --force tries all the same", d.Err)
	case !f.ok():
		return fmt.Errorf("%s does not fit into memory: %s; end some programs first, or use --force", d.Dir, f)
	}
	if err := checkGroups(out, thisMachine(), f.used); err != nil {
		return fmt.Errorf("%s: %w", d.Dir, err)
	}
	return printStep(out, "fit", "ok", f.String())
}

// measureFit collects the numbers. Free space in zram and in other devices of ours does not count: it lies in the very
// memory that is asked about.
func measureFit(all []device, areas []loopsetup.Swap) (fit, error) {
	f := fit{used: usedIn(areas)}
	if f.used == 0 {
		return f, nil
	}
	var err error
	if f.available, err = availableMemory(thisMachine()); err != nil {
		return f, err
	}
	swaps, err := loopsetup.Swaps()
	if err != nil {
		return f, err
	}
	f.otherFree = freeElsewhere(swaps, inMemory(all))
	return f, nil
}

// inMemory returns the swap areas whose pages lie in memory.
func inMemory(all []device) func(path string) bool {
	var ours []string
	for _, d := range all {
		for _, loop := range d.Loops {
			ours = append(ours, loop.Path)
		}
	}
	return func(path string) bool { return strings.HasPrefix(path, "/dev/zram") || slices.Contains(ours, path) }
}

func freeElsewhere(swaps []loopsetup.Swap, exclude func(path string) bool) uint64 {
	var free uint64
	for _, s := range swaps {
		if !exclude(s.Path) && s.Used < s.Size {
			free += s.Size - s.Used
		}
	}
	return free
}

// availableMemory returns MemAvailable (proc_meminfo(5)) in bytes.
func availableMemory(m machine) (uint64, error) {
	text, err := m.field("proc/meminfo", "MemAvailable")
	if err != nil {
		return 0, fmt.Errorf("read the available memory: %w", err)
	}
	kib, err := strconv.ParseUint(strings.TrimSuffix(text, " kB"), 10, 54)
	if err != nil {
		return 0, fmt.Errorf("read the available memory: %w", err)
	}
	return kib << 10, nil
}
