// SPDX-License-Identifier: Apache-2.0

// Command bench compares zramfs with kernel zram (lz4), on the same real pages in the same run: as
// a block device, or as swap.
//
//	bench [block] -binary bin/zramfs [-size 1G] [-rounds 3] [-runtime 4s] [-json]
//	bench [block] -device /dev/X     [...]     any block device; what is on it is overwritten
//	bench swap    -binary bin/zramfs [-limit 512M] [-page-clusters 0,3,5] [-workload zipf] [...]
//	bench start   -binary bin/zramfs [-size 256M] [-rounds 200]    until swap is on
//	bench store   -binary bin/zramfs [-size 2G] [-idle 12m] [-plot FILE]    memory over time
//	bench show    -binary bin/zramfs [-limit 128M]    what swap does for a program, in some lines
//
// It needs root, a file of real pages (tools/pagesample) but for start, and for block devices fio
// and losetup. It uses zramfs as a user would: "zramfs mount", losetup on its data file, "zramfs
// umount"; or "zramfs up" and "zramfs down". The kernel's device is hot-added for the run.
//
// Several configurations of zramfs are measured in turns in one run by naming them:
//
//	-contestant "now=" -contestant "dense=-a page:dense" -contestant "old=/path/of/zramfs"
//
// A report ends with a comparison of each with the project's goals relative to kernel zram.
//
// # What is measured on block devices
//
// All devices are filled with real pages. Then every round measures each workload on one device and
// at once on the others, in the opposite order every other round: sequential 1 MiB transfers, four
// at a time; random 4 KiB transfers, one at a time and 2 x 32 at a time; reads and writes. A
// latency is total: from before the request is handed to the kernel until its completion has been
// collected (fio's lat, which is slat + clat). Each printed figure is the median over the rounds,
// from six rounds on with the interval that has the true median in it in 95 of 100 runs, and each
// ratio the median of the rounds' ratios, so that a slow minute of the machine cancels out. On a
// busy machine trust the ratios alone.
//
// Memory is read from mm_stat of both: mem_used_total over compr_data_size is the allocator's
// overhead, and over orig_data_size the cost of a stored byte. zramfs counts its index in
// mem_used_total; the kernel leaves its table (16 bytes a page) out.
//
// # What is measured with swap
//
// A process (this program again) in a control group with a memory limit fills several times that
// limit, walks it in order, and touches single pages. Its pages are real ones, each with its
// number in it; the walk checks every page, and a touch its page, outside of the measured time.
// One wrong byte ends the run. A walk that has taken 25 s ends, and its speed is that of the pages
// that it has read; the memory after it is then that of less work. Transparent huge pages are off
// for the process.
//
// The touches are those of -workload: uniform, all pages alike; zipf, the nth page n to the power
// of -0.99 as often as the first, with a hot set that moves ten times in a run, each time to pages
// that were touched less; or a file of tools/agetrace, as internal/idlework/testdata/ages/build.gz.
// Each page that a trace has written or read is one touch, by a write or a read, in the order of
// the trace and without its times. Copies of the trace fill the load, and each begins at another
// point of it, so that the first touches, as many as -touches has, are a sample of all of it.
//
// A touch is a miss if the kernel counted a major fault of its thread: the thread waited for the
// device or for zswap. A minor fault found the page in the swap cache, where readahead had brought
// it, or where it was still on its way out; so does the first write to a page that a read brought
// in. The report gives the parts of all three kinds, mean, p50 and p99 of a miss, and the mean of
// all touches, which is the one that readahead can win or lose. The thread reads its counts before
// and after the measured time. That time includes the clock, some 50 ns, and making room for the
// page.
//
// Everything is measured at each value of vm.page-cluster that -page-clusters names, since it
// decides between the walk and the touches, and since readahead helps zramfs, while kernel zram
// never reads ahead. A ratio compares each device at its own best value: that with the best median
// speed of the fill for measures of the fill, of the walk for those of the walk and for processor
// time, and that with the least mean of all touches for those of touches. The report names the
// value behind each figure (@), and prints the medians at all values below. One value measures
// only that.
//
// With -load-cpu the process stays on one processor from its start. Otherwise it moves, and from
// then on the kernel interrupts the processor that it left for each page written out
// (arch_tlbbatch_flush), unless that one is idle or in a kernel thread: almost never where kernel
// zram compresses in the process itself, and all the time where zramfs does so on the other
// processor.
//
// At the end of each phase it records all memory that the device takes for this work: of zramfs
// all its processes with their page tables, of kernel zram its objects and its table, and what
// zswap takes in front of them: its pool, and 80 bytes for each page in it. A copy of a page that
// is in memory too counts like any other.
//
// "zramfs up" puts zswap in front of the device by its own choice, or by its flag --zswap. These
// contestants are a dial, and the device alone:
//
//	-contestant "alone=--zswap off" -contestant "small=--zswap 1%" -contestant "large=--zswap 30%"
//
// Pages that went to zswap or came from there count as swapped. The report has the part of the
// pages swapped in that came from zswap, and how much zswap wrote back to the device.
//
// Kernel zram gets the same size, priority, discards and values of vm.page-cluster. It reads ahead
// with none of them, so what differs between them is noise.
//
// # Wake-up cost
//
// At the start of each round of either kind it measures what a wake-up costs, since every request
// that zramfs serves needs several: two threads wake each other by pipes, on two CPUs and on one;
// as the machine is, and with a PM QoS request held (/dev/cpu_dma_latency), with which no CPU
// halts. Where the request makes a great difference, the machine's CPUs halt when idle and are
// slow to wake up, as those of many virtual machines are. Another process that holds such a
// request makes both the same.
//
// # Processor time
//
// It is the time of the load, zramfs and the threads of the kernel, from /proc: on block devices
// for each GiB transferred, including the work of the load generator; with swap that of fill and
// walk together for each GiB swapped out or in. Other processes are left out, except for the kernel
// threads' work for them. Their time is printed for a run with swap, and the JSON has that of the
// whole machine: zramfs works on several processors at once where kernel zram uses one, so
// competing processes change the ratios of throughput too.
//
// # Safety of a run with swap
//
// Swap is on in windows of some seconds, a new device in each. A run does not start while other
// swap or zswap is on, nor without memory for all its pages, should none be compressible. A guard,
// a process locked in memory, ends a window that takes longer than -window, or whose tool was
// killed: it kills the load, turns the swap off, ends the connection of a server that does not
// answer, and restores vm.page-cluster and the parameters of zswap.
//
// The tool removes all that it made, also when it fails or is interrupted. Only after SIGKILL do
// "zramfs umount", losetup -d and hot_remove have to be done by hand.
//
// # Why reads are fio's and writes are ours
//
// A compressed device's speed depends on its data, and fio cannot write real pages. With
// buffer_pattern='FILE' it repeats the file's first 512 bytes for ever (fio 3.33: every page stored
// at the same size); with buffer_compress_percentage the data is half random and half zeros;
// dedupe_percentage, replayed logs and file-backed buffers (mem=mmap:FILE, which fio overwrites) do
// not do it either. So reads are fio's, and writes come from a load generator here that makes the
// same system calls, pwrite(2) and io_submit(2) with O_DIRECT, directly from memory full of real
// pages. Writing the one page that fio can write too, to the same kernel zram, the two agree: a
// median latency of 2.6 us against fio's 2.7 with psync, of 141 against 142 with libaio 2 x 32, and
// throughput within 6 %.
//
// That the stored data are real pages is checked: the kernel device's ratio after the fill must be
// that of the pages under LZ4, and no device's ratio may move during the run.
package main
