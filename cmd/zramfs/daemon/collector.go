// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
)

const (
	// garbageMin and garbageMax bound the garbage that gathers between two collections, in bytes; garbageShare is the
	// share of the machine's memory that it is between them.
	garbageMin   = 2 << 20
	garbageMax   = 4 << 20
	garbageShare = 256
	// spareHeap is room for the buffers of requests and for holes, in bytes. go-fuse holds 16 read buffers of 1 MiB under
	// load on a small machine.
	spareHeap = 4 << 20
	// spareBlock is the size of the blocks that the heap is first filled with: one span of the runtime each, so that as
	// many descriptors of spans exist as there can ever be.
	spareBlock = 8 << 10
	pageSize   = 4096
)

// ballast is address space that counts as heap in use and has no memory; see restCollector, which sets it once.
var ballast []byte

// restCollector gives the heap its final size and leaves the collector asleep until that is nearly used up.
//
// A collection stops the world for moments and every thread has to come along, so it had better be rare. Worse, the
// runtime gives memory back to the kernel behind a collection, and taking it again is a page fault on the page path,
// which on a machine that is short of memory can wait for the device itself. Of the heap the runtime keeps what was in
// use at the collection and a tenth more (retainExtraPercent in mgcscavenge.go). Under a memory limit it keeps 95 % of
// that (reduceExtraPercent), which a heap that is only collected at the limit exceeds each time.
//
// So there is a ballast: address space that nobody touches. It counts as in use, a tenth of it is more than the whole
// real heap, and so nothing is given back. The collector is paced by the usual percentage, of the ballast. Measured with
// random 4 KiB reads at a depth of 32 by two processes: 1,100 to 3,500 page faults for each million reads with a memory
// limit as the only trigger, below 20 with the ballast; a collection for each 90,000 reads with
// 32 MiB of garbage between two. Half of that is what memory is worth here.
func restCollector() Protection {
	ram := machineMemory()
	garbage := min(max(ram/garbageShare, garbageMin), garbageMax)
	size := 10*(garbage+spareHeap) + 100<<20
	p := Protection{Name: ProtectCollector, State: StateOK}
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(-1)
	if raceEnabled || !mayReserve(size, ram) {
		fillHeap(garbage + spareHeap)
		limit := mappedMemory()/95*100 + 1<<20
		debug.SetMemoryLimit(int64(limit))
		p.State = StateWarn
		p.Detail = fmt.Sprintf("there is no address space to spare: the collector runs at %d MiB, and some memory is given "+
			"back and taken again each time", limit>>20)
		return p
	}
	ballast = make([]byte, size)
	fillHeap(garbage + spareHeap)
	debug.SetGCPercent(int((garbage*100 + size/2) / size))
	p.Detail = fmt.Sprintf("the collector runs once %d MiB of garbage have gathered, and keeps the memory", garbage>>20)
	return p
}

// mayReserve says whether so much address space can be had without memory behind it. Where the kernel counts address
// space (vm.overcommit_memory is 2), or where it would be more than there is memory, the attempt could end the process.
func mayReserve(size, ram uint64) bool {
	mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	return err == nil && strings.TrimSpace(string(mode)) != "2" && size < ram/2
}

// fillHeap grows the heap by spare bytes of present memory and leaves them free. The collection while all is in use
// makes what the collector itself needs; the one after frees the blocks.
func fillHeap(spare uint64) {
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

// The names of runtime/metrics that are read here.
const (
	metricTotal    = "/memory/classes/total:bytes"
	metricReleased = "/memory/classes/heap/released:bytes"
	metricCycles   = "/gc/cycles/total:gc-cycles"
)

// mappedMemory is what the runtime has and what the memory limit is about.
func mappedMemory() uint64 {
	samples := []metrics.Sample{{Name: metricTotal}, {Name: metricReleased}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// processStatus describes the runtime. It stops nothing.
func processStatus() ProcessStatus {
	samples := []metrics.Sample{{Name: metricTotal}, {Name: metricReleased}, {Name: metricCycles}}
	metrics.Read(samples)
	return ProcessStatus{
		HeapBytes:         samples[0].Value.Uint64() - uint64(len(ballast)),
		HeapReleasedBytes: samples[1].Value.Uint64(),
		GCCycles:          samples[2].Value.Uint64(),
	}
}
