// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

const (
	// garbageLimit is the garbage that gathers between two collections, in bytes. Requests for
	// pages leave none; a read of the status leaves some 50 KiB, one of an attribute 1 KiB.
	garbageLimit = 512 << 10
	// spareHeap is room for holes, in bytes.
	spareHeap = 512 << 10
	// processorHeap is what the processors that run Go code at a time cache, in bytes: 64 pages of
	// 8 KiB each (pageCachePages in the runtime's mpagecache.go), two of them.
	processorHeap = 1 << 20
	// spareBlock is the size of the blocks that the heap is first filled with, in bytes: one span
	// of the runtime each, so that all descriptors of spans exist that it can ever need.
	spareBlock = 8 << 10
	pageSize   = 4096
	// warmUpCycles is the number of collections before the first request.
	warmUpCycles = 8
)

// reserve is address space that counts as heap in use and has no memory. ReserveHeap sets it once.
var reserve []byte

// ReserveHeap makes collections rare and keeps the runtime from giving memory back. A serving
// process calls it at its start.
//
// A collection stops every thread, so a thread that waits for memory delays all of them. After it
// the runtime gives memory back to the kernel, and taking it again is a page fault in a thread that
// requests may wait for. The runtime keeps the heap that was in use at the collection and a tenth
// more (retainExtraPercent in mgcscavenge.go). Under a memory limit it keeps 95 % of that
// (reduceExtraPercent), which a heap that is only collected at the limit exceeds each time.
//
// So ReserveHeap allocates address space that no code touches. It counts as heap in use, and a
// tenth of it is more than all free parts of the heap: nothing is given back. The usual percentage,
// of the reserve, paces the collector. The reserve is no larger than that needs: while a collection
// waits for a processor, the runtime lets a tenth of the heap in use gather as garbage
// (maxOvershoot in mgcpacer.go). Measured with random 4 KiB reads at a depth of 32 by two processes
// and ten reads of the status a second: a collection a second, for the status alone; 35 to 45 page
// faults in each without the reserve, less than one with it.
func ReserveHeap() {
	const size = 10 * (garbageLimit + spareHeap + processorHeap)
	debug.SetMemoryLimit(math.MaxInt64)
	ram, err := host.Local.MemTotal()
	if raceEnabled || err != nil || !mayReserve(size, ram) {
		return
	}
	reserve = make([]byte, size)
	_ = giveBack(reserve) // the runtime clears addresses that the heap has used before, and so touches all
	debug.SetGCPercent((garbageLimit*100 + size/2) / size)
}

// CheckCollector says how [WarmUp] leaves the collector, which it need not have done yet.
func CheckCollector() status.Protection {
	p := status.Protection{Name: status.NameCollector, State: status.OK, Detail: "garbage collection is off while serving"}
	if reserve == nil {
		p.State = status.Warn
		p.Detail = "there is no address space to spare: the collector runs at a limit of memory, and some is given back and " +
			"taken again each time"
	}
	return p
}

// WarmUp makes the memory present that the heap needs on top of what is in use; see [MakePresent]
// for that. The next collection follows when garbageLimit has gathered. Then it calls use, which
// reads the status, until the garbage has been collected some times: all memory that heap and
// collector need for it is then present. The pauses let the goroutine change processors. It takes
// a tenth of a second and may run while requests are served; it ends early when stop is closed.
func WarmUp(stop <-chan struct{}, use func()) {
	fillHeap(garbageLimit + spareHeap)
	if reserve == nil {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(int64(mappedMemory()/95*100 + 1<<20))
	}
	for last := Heap().Cycles + warmUpCycles; Heap().Cycles < last; {
		use()
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Microsecond):
		}
	}
}

// mayReserve reports whether the process can take so much address space without memory behind it.
// Where the kernel counts address space (vm.overcommit_memory is 2), or has less memory, the
// attempt could end the process.
func mayReserve(size, ram uint64) bool {
	mode, err := host.Local.Sysctl("vm.overcommit_memory")
	return err == nil && mode != "2" && size < ram/2
}

// fillHeap makes spare bytes of free memory present in the heap. The collection while all blocks
// are in use makes the collector take the memory it needs; the one after it frees the blocks.
func fillHeap(spare uint64) {
	runtime.GC()
	blocks := make([][]byte, spare/spareBlock)
	for i := range blocks {
		blocks[i] = make([]byte, spareBlock)
		for at := 0; at < spareBlock; at += pageSize {
			blocks[i][at] = 1
		}
	}
	runtime.GC()
	runtime.KeepAlive(blocks)
	clear(blocks)
	runtime.GC()
}

// Names of runtime/metrics.
const (
	metricTotal    = "/memory/classes/total:bytes"
	metricReleased = "/memory/classes/heap/released:bytes"
	metricCycles   = "/gc/cycles/total:gc-cycles"
)

// mappedMemory is the memory of the runtime in bytes, as debug.SetMemoryLimit counts it.
func mappedMemory() uint64 {
	samples := []metrics.Sample{{Name: metricTotal}, {Name: metricReleased}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// HeapUse is the state of the Go heap.
type HeapUse struct {
	Bytes    uint64 // of memory, free parts included, without the reserve
	Released uint64 // bytes given back to the kernel
	Cycles   uint64 // collections since the process started
}

// Heap returns the state of the heap. It stops no thread.
func Heap() HeapUse {
	samples := []metrics.Sample{{Name: metricTotal}, {Name: metricReleased}, {Name: metricCycles}}
	metrics.Read(samples)
	return HeapUse{
		Bytes:    samples[0].Value.Uint64() - uint64(len(reserve)),
		Released: samples[1].Value.Uint64(),
		Cycles:   samples[2].Value.Uint64(),
	}
}
