// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"strings"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

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

// bdStat formats bd_stat as bd_stat_show does: pages that lie on the backing device, and those that
// were read from and written to it.
func bdStat(s store.Stats) string {
	return fmt.Sprintf("%8d %8d %8d\n", s.WrittenBack, s.BackingReads, s.BackingWrites)
}

// debugStat formats debug_stat as debug_stat_show does. The last figure counts slots that were to
// be freed and were locked by another process: the store waits for the lock instead.
func debugStat(store.Stats) string { return fmt.Sprintf("version: 1\n0 %8d\n", 0) }

// blockStat formats stat as part_stat_show of the kernel's block/genhd.c does
// (Documentation/block/stat.rst): requests, merges, sectors and milliseconds of reads and of
// writes, requests under way, and so on for discards and flushes. A page is one request. Requests
// are not merged, and their times are not kept here.
func blockStat(s store.Stats, inFlight int) string {
	const sectors = pageSize / sector
	three := func(pages uint64) string { return fmt.Sprintf("%8d %8d %8d %8d", pages, 0, pages*sectors, 0) }
	return fmt.Sprintf("%s %s %8d %8d %8d %s %8d %8d\n", three(s.Reads), three(s.Writes), inFlight, 0, 0, three(s.NotifyFree), 0, 0)
}

// compAlgorithm lists all algorithms with the chosen one in brackets, as zcomp_available_show does,
// the blank before the newline included. A setting with parameters, such as zstd(level=3), stands
// in its family's place.
func compAlgorithm(chosen codec.Algorithm) string { return algorithmList(chosen.String()) }

// algorithmList is compAlgorithm for the text of an algorithm.
func algorithmList(setting string) string {
	family := familyOf(setting)
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

// familyOf returns the name in the text of an algorithm, without its parameters.
func familyOf(setting string) (family string) {
	for _, name := range codec.Algorithms() {
		rest, ok := strings.CutPrefix(setting, name)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], "(:")) && len(name) > len(family) {
			family = name
		}
	}
	return family
}
