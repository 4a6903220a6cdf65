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
	"sync"
	"time"
)

const (
	// garbageLimit is what gathers between two collections, in bytes. Requests for pages leave none;
	// whoever reads the status leaves some 50 KiB, and an attribute 1 KiB.
	garbageLimit = 1 << 20
	// spareHeap is room for holes, in bytes.
	spareHeap = 1 << 20
	// processorHeap is what all processors together may have set aside for themselves, in bytes: 64
	// pages of 8 KiB each (pageCachePages in the runtime's mpagecache.go), for as many as work at a
	// time.
	processorHeap = 8 << 20
	// spareBlock is the size of the blocks that the heap is first filled with: one span of the runtime
	// each, so that as many descriptors of spans exist as there can ever be.
	spareBlock = 8 << 10
	pageSize   = 4096
	// readers is how many read attributes at a time: what fusefs has threads for.
	readers = 2
	// rehearsals is how many collections there are before the first request.
	rehearsals = 8
)

// ballast is address space that counts as heap in use and has no memory; see takeBallast, which
// sets it once.
var ballast []byte

// takeBallast sets the collector's pace, at the start of the process.
//
// A collection stops the world for moments and every thread has to come along, so that one of them
// which waits for memory would hold up all; it had better be rare. The runtime also gives memory
// back to the kernel behind a collection, and taking it again is a page fault, in a thread that
// others may be waiting for. Of the heap the runtime keeps what was in use at the collection and a
// tenth more (retainExtraPercent in mgcscavenge.go). Under a memory limit it keeps 95 % of that
// (reduceExtraPercent), which a heap that is only collected at the limit exceeds each time.
//
// So there is a ballast: address space that nobody touches. It counts as in use, a tenth of it is
// more than what the heap has beside what is in use, and so nothing is given back. The collector is
// paced by the usual percentage, of the ballast. Measured with random 4 KiB reads at a depth of 32
// by two processes, while the status was read ten times a second: a collection a second, for the
// status alone; 35 to 45 page faults in each without the ballast, less than one with it.
func takeBallast() {
	const size = 10 * (garbageLimit + spareHeap + processorHeap)
	debug.SetMemoryLimit(math.MaxInt64)
	if raceEnabled || !mayReserve(size, machineMemory()) {
		return
	}
	ballast = make([]byte, size)
	_ = giveBack(ballast) // where the heap had used some of the addresses before, the runtime has cleared it all
	debug.SetGCPercent((garbageLimit*100 + size/2) / size)
}

// restCollector gives the heap its final size, all of it present, and leaves the collector asleep
// until some garbage has gathered.
func restCollector() Protection {
	p := Protection{Name: ProtectCollector, State: StateOK}
	runtime.GC()
	missing := populateHeap() // before it grows by more than will be used
	fillHeap(garbageLimit + spareHeap)
	if ballast == nil {
		limit := mappedMemory()/95*100 + 1<<20
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(int64(limit))
		p.State = StateWarn
		p.Detail = fmt.Sprintf("there is no address space to spare: the collector runs at %d MiB, and some memory is given "+
			"back and taken again each time", limit>>20)
		return p
	}
	if missing != nil {
		p.State, p.Detail = StateWarn, fmt.Sprintf("the first use of the heap may take page faults: %v", missing)
		return p
	}
	p.Detail = "garbage collection is off while serving"
	return p
}

// rehearse makes garbage as those do who read the status, as many at a time as can, until it was
// collected some times: what the heap and the collector need for that is then there, wherever they
// have it. The pauses are for other processors to take over.
func rehearse(use func()) {
	last := processStatus().GCCycles + rehearsals
	var players sync.WaitGroup
	for range readers {
		players.Go(func() {
			for processStatus().GCCycles < last {
				use()
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	players.Wait()
}

// mayReserve says whether so much address space can be had without memory behind it. Where the
// kernel counts address space (vm.overcommit_memory is 2), or where it would be more than there is
// memory, the attempt could end the process.
func mayReserve(size, ram uint64) bool {
	mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	return err == nil && strings.TrimSpace(string(mode)) != "2" && size < ram/2
}

// fillHeap grows the heap to have spare bytes of free memory, where it has less. The collection
// while all is in use makes what the collector itself needs; the one after frees the blocks.
func fillHeap(spare uint64) {
	runtime.GC()
	if freeHeap() >= spare {
		return
	}
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
	metricFree     = "/memory/classes/heap/free:bytes"
	metricCycles   = "/gc/cycles/total:gc-cycles"
)

// mappedMemory is what the runtime has and what the memory limit is about.
func mappedMemory() uint64 {
	samples := []metrics.Sample{{Name: metricTotal}, {Name: metricReleased}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// freeHeap is what the heap has and nobody uses, present or not.
func freeHeap() uint64 {
	samples := []metrics.Sample{{Name: metricFree}, {Name: metricReleased}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
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
