// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// forget is the weight of the newest piece in a moving average.
	forget = 0.25
	// paceItems is the number of items over which a CPU worker's pace is averaged. It is large,
	// because another process on the core for a moment is no reason to use engines.
	paceItems = 2048
	// maxPieceTime bounds the expected time of a piece, in seconds: all workers may have to wait
	// that long at the end if the engine has become slower.
	maxPieceTime = 0.05
	// probeEvery is the number of batches after which an engine thought too slow is tried again,
	// and probeItems is how many times its smallest piece such a batch must have, so that the CPU
	// has work too.
	probeEvery = 16
	probeItems = 4
)

// An estimate is the measured speed of an engine for one operation.
type estimate struct {
	mu       sync.Mutex
	items    float64   // moving sums of items, and of seconds with at least one piece under way; guarded by mu
	seconds  float64   // guarded by mu
	overhead float64   // moving average of a piece's seconds beyond items/rate, when it waits; guarded by mu
	known    bool      // at least one piece has ended; guarded by mu
	last     time.Time // end of the last piece; guarded by mu
	idle     int       // batches in a row for which the engine was thought too slow; guarded by mu
	probing  bool      // the next piece replaces the estimate; guarded by mu
}

// learn adds a piece that has ended, and returns the part of its time when no earlier piece was
// under way.
func (e *estimate) learn(items int, began, ended time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	busy := ended.Sub(began)
	if e.last.After(began) {
		busy = max(ended.Sub(e.last), 0)
	}
	e.last = ended
	if e.probing { // averaged with the old estimate it would take many probes
		e.probing, e.known, e.items, e.seconds, e.overhead = false, false, 0, 0, 0
	}
	e.items = e.items*(1-forget) + float64(items)
	e.seconds = e.seconds*(1-forget) + max(busy.Seconds(), 1e-9)
	late := max(ended.Sub(began).Seconds()-float64(items)*e.seconds/e.items, 0)
	if !e.known {
		e.overhead = late
	}
	e.overhead += forget * (late - e.overhead)
	e.known = true
	return busy
}

// rate returns items a second, 0 where that is unknown; e.mu is held.
func (e *estimate) rate() float64 {
	if !e.known {
		return 0
	}
	return e.items / e.seconds
}

// Rate returns items a second, 0 where that is unknown.
func (e *estimate) Rate() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rate()
}

// begin reports whether a batch of n items tries the engine again although it is thought too slow.
// Its next piece then replaces the estimate.
func (e *estimate) begin(n int, l Limits) (probe bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.probing = e.idle >= probeEvery && n >= probeItems*l.Min
	return e.probing
}

// end records whether the engine did any items of a batch.
func (e *estimate) end(used bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle++; used {
		e.idle = 0
	}
}

// piece returns how many items the engine takes next, of left that it could do, with remaining in
// the batch and the CPU doing cpu items a second, 0 if unknown. It returns 0 when the CPU will
// finish before the engine would.
//
// The engine gets its share of the remaining items, divided by its lanes and once more by two, so
// that pieces shrink towards the end; and no more than it brings back before the CPU has done the
// rest: overhead + n/rate <= (remaining-n)/cpu.
func (e *estimate) piece(l Limits, left, remaining int, cpu float64) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if left < l.Min {
		return 0
	}
	rate := e.rate()
	if rate == 0 {
		return l.Min
	}
	n := rate * maxPieceTime
	if cpu > 0 {
		n = min(n, float64(remaining)*rate/(rate+cpu)/float64(2*l.Lanes))
		most := (float64(remaining)/cpu - e.overhead) / (1/rate + 1/cpu)
		if most < float64(l.Min) {
			return 0
		}
		n = min(max(n, float64(l.Min)), most)
	}
	return max(l.Min, min(l.Max, left, int(n)))
}

// A pace is the time that one CPU worker takes for an item, written by that worker alone and read
// by all. It fills a cache line and the next, which the processor prefetches.
type pace struct {
	nanos atomic.Uint64 // a moving average as the bits of a float64, 0 if unknown
	_     [120]byte
}

func (p *pace) learn(items int, took time.Duration) {
	now := max(float64(took), 1) / float64(items)
	if before := math.Float64frombits(p.nanos.Load()); before > 0 {
		now = before + min(float64(items)/paceItems, 1)*(now-before)
	}
	p.nanos.Store(math.Float64bits(now))
}

// cpuRate returns the items a second of all workers together, extrapolated from those measured; 0
// if none was.
func cpuRate(paces []pace) float64 {
	sum, known := 0.0, 0
	for i := range paces {
		if nanos := math.Float64frombits(paces[i].nanos.Load()); nanos > 0 {
			sum += 1e9 / nanos
			known++
		}
	}
	if known == 0 {
		return 0
	}
	return sum / float64(known) * float64(len(paces))
}
