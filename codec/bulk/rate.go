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
	// paceItems is over how many items a CPU worker's pace is averaged. That is long, because somebody
	// who takes the core away for a moment is no reason to call engines.
	paceItems = 2048
	// maxPieceTime bounds how long a piece is to take by what is known of the engine, in seconds: as
	// long as everybody may have to wait for it at the end if the engine has become slower since.
	maxPieceTime = 0.05
	// probeEvery is after how many batches that it was thought too slow for an engine is tried again,
	// and probeItems is how many times its smallest piece such a batch must have, so that the CPU has
	// something to do meanwhile.
	probeEvery = 16
	probeItems = 4
)

// An estimate is what is known of how fast an engine does one operation.
type estimate struct {
	mu       sync.Mutex
	items    float64   // moving sums of what was done, and of the seconds during which at least one piece was under way; guarded by mu
	seconds  float64   // guarded by mu
	overhead float64   // seconds that a piece takes beyond items/rate, as it waits for those before it; a moving average; guarded by mu
	known    bool      // at least one piece has ended; guarded by mu
	last     time.Time // when a piece ended last; guarded by mu
	idle     int       // batches in a row for which the engine was thought too slow; guarded by mu
	probing  bool      // the next piece says more than all before it; guarded by mu
}

// learn takes in a piece that has ended, and returns for how much of its time no other piece was
// under way that had begun before.
func (e *estimate) learn(items int, began, ended time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	busy := ended.Sub(began)
	if e.last.After(began) {
		busy = max(ended.Sub(e.last), 0)
	}
	e.last = ended
	if e.probing { // an average with what made it idle would take many probes to come back
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

// begin says whether a batch of n items may be the engine's turn to be tried again although it is
// thought too slow. What its next piece takes is then all that is known.
func (e *estimate) begin(n int, l Limits) (probe bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.probing = e.idle >= probeEvery && n >= probeItems*l.Min
	return e.probing
}

// end says whether the engine did anything in a batch.
func (e *estimate) end(used bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle++; used {
		e.idle = 0
	}
}

// piece returns how many items the engine is to take next, of left that it could, when remaining
// are left of the batch and the CPU does cpu items a second, 0 if that is unknown. It returns 0
// when the CPU will be done before the engine would.
//
// The engine gets its share of what remains, divided by the pieces that it has at once and once
// more by two, so that pieces shrink towards the end; and no more than it brings back before the
// CPU has done the rest: overhead + n/rate <= (remaining-n)/cpu.
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

// A pace is how long one CPU worker takes for an item, written by that worker alone and read by
// all. It fills a cache line and the one that is fetched with it.
type pace struct {
	nanos atomic.Uint64 // a moving average as the bits of a float64, 0 where nothing is known
	_     [120]byte
}

func (p *pace) learn(items int, took time.Duration) {
	now := max(float64(took), 1) / float64(items)
	if before := math.Float64frombits(p.nanos.Load()); before > 0 {
		now = before + min(float64(items)/paceItems, 1)*(now-before)
	}
	p.nanos.Store(math.Float64bits(now))
}

// cpuRate returns what all workers together do in a second, of which some may not have been
// measured yet; 0 where none has.
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
