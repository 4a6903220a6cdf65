// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/codec"
)

const (
	// zramEntry is what kernel zram keeps for each page of a device, used or not, and leaves out of
	// mm_stat: struct zram_table_entry in drivers/block/zram/zram_drv.h on 64-bit machines.
	zramEntry = 16
	// slotEntry is what the kernel keeps for each slot in use (the swap tables of Linux 6.18, the
	// most of any version). It counts for slots that a process of zramfs has: programs have the
	// others on either device.
	slotEntry = 8
)

// takenMemory returns all memory that a device takes, in bytes: of kernel zram its
// objects and its table; of zramfs what its processes have of memory, shared or not,
// their page tables, and what the kernel has for their swap slots.
func (p party) takenMemory(device *device, size int64) (uint64, error) {
	if p.server != "" {
		return p.serverMemory()
	}
	use, err := readMemory(device)
	if err != nil || use == nil {
		return 0, err
	}
	return use.Used + uint64(size)/codec.PageSize*zramEntry, nil
}

// serverMemory sums over the processes of zramfs. A page that several have mapped
// counts once in all (Pss in proc_pid_smaps(5)). A process that ends is left out.
func (p party) serverMemory() (sum uint64, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || p.roleOf(pid) != roleServer {
			continue
		}
		rollup, err := os.ReadFile(dir + "/smaps_rollup")
		if err != nil {
			continue
		}
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue
		}
		var sizes [3]uint64
		for i, field := range []struct{ text, name string }{{string(rollup), "Pss"}, {string(status), "VmPTE"}, {string(status), "VmSwap"}} {
			if sizes[i], err = parseKibibytes(field.text, field.name); err != nil {
				return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
			}
		}
		sum += sizes[0] + sizes[1] + sizes[2]/codec.PageSize*slotEntry
	}
	return sum, nil
}

// parseKibibytes returns the value of a line "name:   123 kB" in bytes.
func parseKibibytes(text, name string) (uint64, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 54)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", errKernelText, line)
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("%w: no %s", errKernelText, name)
}
