// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// An attribute is a readable file below block/zram0 or control. Formats are those of the kernel's
// drivers/block/zram/zram_drv.c, to the byte: scripts cut them by column.
type attribute struct {
	dir  uint64 // inode of the directory
	name string
	show func() ([]byte, error)
	set  func([]byte) error // nil if read-only
}

// attributesOf returns the attribute files of a device. In the kernel mem_limit and mem_used_max
// are write-only; here they show bytes, as disksize does.
func attributesOf(cfg Config, loops attribute) []attribute {
	of := func(name string, format func(store.Stats) string) attribute {
		return attribute{deviceNode, name, func() ([]byte, error) { return []byte(format(cfg.Store.Stats())), nil }, nil}
	}
	status := func() ([]byte, error) {
		if cfg.Status == nil {
			return nil, nil
		}
		noted, err := loops.show()
		if err != nil {
			return nil, err
		}
		return cfg.Status(strings.Fields(string(noted)))
	}
	return []attribute{
		of("disksize", func(store.Stats) string { return decimal(cfg.Store.Disksize()) }),
		of("initstate", func(store.Stats) string { return "1\n" }),
		of("comp_algorithm", func(store.Stats) string { return compAlgorithm(cfg.Algorithm) }),
		of("mem_limit", func(s store.Stats) string { return decimal(s.MemLimit) }),
		of("mem_used_max", func(s store.Stats) string { return decimal(s.MemUsedMax) }),
		of("mm_stat", mmStat),
		of("io_stat", ioStat),
		{controlNode, "status", status, nil},
		loops,
	}
}

func decimal(n uint64) string { return fmt.Sprintf("%d\n", n) }

// mmStat formats mm_stat as mm_stat_show does.
func mmStat(s store.Stats) string {
	return fmt.Sprintf("%8d %8d %8d %8d %8d %8d %8d %8d %8d\n",
		s.OrigDataSize, s.ComprDataSize, s.MemUsedTotal, s.MemLimit, s.MemUsedMax,
		s.SamePages, s.PagesCompacted, s.HugePages, s.HugePagesSince)
}

// ioStat formats io_stat as io_stat_show does. The kernel's third figure, invalid I/O, is always 0:
// a file accepts any offset and length.
func ioStat(s store.Stats) string {
	return fmt.Sprintf("%8d %8d 0 %8d\n", s.FailedReads.Count, s.FailedWrites.Count, s.NotifyFree)
}

// compAlgorithm lists all algorithms with the chosen one in brackets, as zcomp_available_show does,
// the blank before the newline included. A setting with parameters, such as zstd(level=3), stands
// in its family's place.
func compAlgorithm(chosen codec.Algorithm) string {
	setting, family := chosen.String(), ""
	for _, name := range codec.Algorithms() {
		rest, ok := strings.CutPrefix(setting, name)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], "(:")) && len(name) > len(family) {
			family = name
		}
	}
	var b strings.Builder
	for _, name := range codec.Algorithms() {
		if name == family {
			name = "[" + setting + "]"
		}
		b.WriteString(name + " ")
	}
	b.WriteByte('\n')
	return b.String()
}
