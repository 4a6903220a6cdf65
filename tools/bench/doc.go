// SPDX-License-Identifier: Apache-2.0

// Command bench measures a zramfs device beside a kernel zram device, on the same
// real pages in the same run.
//
//	bench -binary bin/zramfs [-size 1G] [-rounds 3] [-runtime 4s] [-json]
//	bench -device /dev/X     [...]     any block device; what is on it is overwritten
//
// It needs root, fio, losetup and a file of real pages (tools/pagesample), and uses
// zramfs as a user would: "zramfs mount", losetup on its data file, "zramfs
// umount". The kernel's device (lz4) is hot-added for the run. No swap is turned
// on. Whatever it made it removes, also when it fails or is interrupted; only after
// SIGKILL do "zramfs umount", losetup -d and hot_remove have to be done by hand.
//
// # What is measured
//
// Both devices are filled with real pages. Then every round measures each
// workload on one device and at once on the other: sequential 1 MiB transfers, four
// at a time; random 4 KiB transfers, one at a time and 2 x 32 at a time; reads and
// writes. A latency is total: from before the request is handed to the kernel until
// its completion has been collected (fio's lat, which is slat + clat). Each printed
// figure is the median over the rounds, and each ratio the median of the rounds'
// ratios, so that a slow minute of the machine cancels out. On a busy machine trust
// the ratios alone.
//
// Memory is read from mm_stat of both: mem_used_total over compr_data_size says
// what the allocator adds, and over orig_data_size what a stored byte costs. zramfs
// counts its index in mem_used_total; the kernel leaves its table (16 bytes a page)
// out.
//
// # Why reads are fio's and writes are ours
//
// A compressed device is only as fast as its data lets it be, and fio cannot write
// real pages. With buffer_pattern='FILE' it repeats the file's first 512 bytes for
// ever (fio 3.33: every page stored at the same size); with
// buffer_compress_percentage the data is half random and half zeros;
// dedupe_percentage, replayed logs and file-backed buffers (mem=mmap:FILE, which fio
// overwrites) do not do it either. So reads are fio's, and writes come from a load
// generator here that makes the same system calls, pwrite(2) and io_submit(2) with
// O_DIRECT, directly from memory full of real pages. Writing the one page that fio
// can write too, to the same kernel zram, the two agree: a median latency of 2.6 us
// against fio's 2.7 with psync, of 141 against 142 with libaio 2 x 32, and throughput
// within 6 %.
//
// That the stored data are real pages is checked: the kernel device's ratio after
// the fill must be that of the pages under LZ4, and no device's ratio may move
// during the run.
package main
