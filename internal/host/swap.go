// SPDX-License-Identifier: Apache-2.0

package host

import "path"

// SwapUse is the use of all swap areas of the machine, in bytes (proc_meminfo(5)).
type SwapUse struct {
	Total  uint64 // of all areas
	Used   uint64 // copies of pages in memory included
	Cached uint64 // SwapCached: pages that are in swap and in memory
}

// SwapUse returns the use of all swap areas. A number that the kernel does not tell is 0.
func (r Root) SwapUse() (u SwapUse) {
	u.Cached, _ = r.kibibytes("proc/meminfo", "SwapCached")
	u.Total, _ = r.kibibytes("proc/meminfo", "SwapTotal")
	free, _ := r.kibibytes("proc/meminfo", "SwapFree")
	u.Used = u.Total - min(free, u.Total)
	return u
}

// ZswapUse is what zswap holds and did, for all swap areas of the machine together. Its JSON is a
// part of status --json.
type ZswapUse struct {
	Held uint64 `json:"held"` // bytes of pages, uncompressed
	Pool uint64 `json:"pool"` // bytes of memory that they take compressed
	// Loads, Stores and WrittenBack count pages since the machine booted.
	Loads       uint64 `json:"loads_total"`
	Stores      uint64 `json:"stores_total"`
	WrittenBack uint64 `json:"written_back_total"`
}

// ZswapEntry is the memory that the kernel takes for a page in zswap in addition to the pool, in
// bytes: struct zswap_entry, its place in an xarray and zsmalloc's handle (Linux 6.18).
const ZswapEntry = 80

// Memory is all the memory that zswap takes: Pool with the kernel's entries.
func (u ZswapUse) Memory() uint64 { return u.Pool + u.Held/4096*ZswapEntry }

// ZswapUse returns the use of zswap (proc_meminfo(5) from Linux 5.19, /proc/vmstat from 6.1); zero
// where the kernel has none.
func (r Root) ZswapUse() (u ZswapUse) {
	u.Pool, _ = r.kibibytes("proc/meminfo", "Zswap")
	u.Held, _ = r.kibibytes("proc/meminfo", "Zswapped")
	if stat, err := r.stat("proc/vmstat"); err == nil {
		u.Loads, u.Stores, u.WrittenBack = stat["zswpin"], stat["zswpout"], stat["zswpwb"]
	}
	return u
}

// SwapTable returns the text of the kernel's table of swap areas (proc_swaps(5)). The error is
// fs.ErrNotExist for a kernel without swap.
func (r Root) SwapTable() (string, error) { return r.Read("proc/swaps") }

// LoopBackingFile returns the path of the file under a loop device, named as /dev/loop3, in the
// mount namespace that attached it. The error is fs.ErrNotExist for another block device.
func (r Root) LoopBackingFile(device string) (string, error) {
	return r.Read(path.Join("sys/block", path.Base(device), "loop/backing_file"))
}
