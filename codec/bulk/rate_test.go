// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"math"
	"testing"
	"time"
)

// pieces lets an estimate learn from pieces one after the other, each of items at a rate after an
// overhead.
func (e *estimate) pieces(count, items int, rate float64, overhead time.Duration) {
	at := time.Unix(1000, 0)
	if !e.last.IsZero() {
		at = e.last
	}
	for range count {
		took := overhead + time.Duration(float64(items)/rate*1e9)
		e.learn(items, at, at.Add(took))
		at = at.Add(took)
	}
}

func near(got, want, part float64) bool { return math.Abs(got-want) <= part*want }

// The rate is what was done in the time during which anything was under way, also where pieces
// overlap.
func TestRateIsLearned(t *testing.T) {
	var e estimate
	if e.Rate() != 0 {
		t.Errorf("unknown: %v", e.Rate())
	}
	e.pieces(1, 1000, 1e6, 0)
	if !near(e.Rate(), 1e6, 0.001) {
		t.Errorf("after a piece: %v", e.Rate())
	}
	e.pieces(20, 1000, 4e6, 0)
	if !near(e.Rate(), 4e6, 0.05) {
		t.Errorf("after it became faster: %v", e.Rate())
	}
	// Three lanes, each piece waiting for two before it: one ends every millisecond, and takes
	// three.
	var lanes estimate
	busy := time.Duration(0)
	for i := range 30 {
		ended := time.Unix(1000, 0).Add(time.Duration(i+3) * time.Millisecond)
		busy += lanes.learn(1000, ended.Add(-3*time.Millisecond), ended)
	}
	if !near(lanes.Rate(), 1e6, 0.02) || busy != 32*time.Millisecond || !near(lanes.overhead, 0.002, 0.05) {
		t.Errorf("three lanes: %v a second, busy for %v, overhead %v", lanes.Rate(), busy, lanes.overhead)
	}
}

// The size of a piece and the stop rule follow what was measured.
func TestPieceSizes(t *testing.T) {
	l := Limits{Lanes: 2, Min: 100, Max: 5000}
	for _, c := range []struct {
		name            string
		rate            float64
		overhead        time.Duration
		left, remaining int
		cpu             float64
		low, high       int
	}{
		{"nothing known", 0, 0, 1 << 20, 1 << 20, 0, 100, 100},
		{"CPU unknown", 1e6, 0, 1 << 20, 1 << 20, 0, 5000, 5000},
		{"less left than a piece", 1e6, 0, 99, 1 << 20, 1e6, 0, 0},
		{"equals, much left", 1e6, 0, 1 << 20, 1 << 20, 1e6, 5000, 5000},
		{"equals, less left", 1e6, 0, 8000, 8000, 1e6, 1000, 1000},
		{"equals, little left", 1e6, 0, 150, 150, 1e6, 0, 0},
		{"what it cannot do counts for the CPU", 1e6, 0, 1000, 8000, 1e6, 1000, 1000},
		{"slow: no longer than maxPieceTime", 4000, 0, 1 << 20, 1 << 20, 4000, 200, 200},
		{"a hundred times slower, much left", 1e4, 0, 1 << 20, 1 << 20, 1e6, 500, 500},
		{"a hundred times slower", 1e4, 0, 5000, 5000, 1e6, 0, 0},
		{"a hundred times faster", 1e8, 0, 5000, 5000, 1e6, 1200, 1250},
		{"fast but late", 1e8, 10 * time.Millisecond, 5000, 5000, 1e6, 0, 0},
		{"late, but much left", 1e8, 10 * time.Millisecond, 1 << 20, 1 << 20, 1e6, 5000, 5000},
	} {
		e := estimate{items: c.rate, seconds: 1, overhead: c.overhead.Seconds(), known: c.rate > 0}
		if got := e.piece(l, c.left, c.remaining, c.cpu); got < c.low || got > c.high {
			t.Errorf("%s: %d, want %d to %d", c.name, got, c.low, c.high)
		}
	}
}

// An engine comes back before the CPU has done the rest, whatever the figures are.
func TestStopRule(t *testing.T) {
	l := Limits{Lanes: 3, Min: 64, Max: 8192}
	for rate := 1e3; rate < 1e9; rate *= 7 {
		for cpu := 1e3; cpu < 1e9; cpu *= 5 {
			for remaining := 1; remaining < 1<<24; remaining *= 3 {
				for overhead := 1e-6; overhead < 1; overhead *= 10 {
					e := estimate{items: rate, seconds: 1, overhead: overhead, known: true}
					n := e.piece(l, remaining, remaining, cpu)
					if n == 0 {
						continue
					}
					engine, others := overhead+float64(n)/rate, float64(remaining-n)/cpu
					if n < l.Min || n > min(l.Max, remaining) || engine > others*1.0001+1/rate {
						t.Fatalf("rate %g, CPU %g, %d remaining, overhead %g: %d items take %gs, and the rest %gs", rate, cpu, remaining, overhead, n, engine, others)
					}
				}
			}
		}
	}
}

// The CPU's rate is that of all workers, also while some were not measured.
func TestCPURate(t *testing.T) {
	paces := make([]pace, 4)
	if got := cpuRate(paces); got != 0 {
		t.Errorf("unknown: %v", got)
	}
	paces[0].learn(64, 64*time.Microsecond)
	paces[2].learn(64, 32*time.Microsecond)
	if got := cpuRate(paces); !near(got, 4*1.5e6, 0.001) {
		t.Errorf("two of four: %v", got)
	}
	for range 200 {
		paces[0].learn(64, 128*time.Microsecond)
	}
	if got := cpuRate(paces[:1]); !near(got, 0.5e6, 0.01) {
		t.Errorf("after it became slower: %v", got)
	}
	if paces[0].learn(16, 10*time.Millisecond); cpuRate(paces[:1]) < 0.1e6 {
		t.Errorf("after somebody took the core away: %v", cpuRate(paces[:1]))
	}
}

// An engine that was thought too slow is tried again after some batches that are large enough.
func TestProbe(t *testing.T) {
	var e estimate
	l := Limits{Min: 100}
	for range probeEvery {
		if e.begin(1<<20, l) {
			t.Fatal("too soon")
		}
		e.end(false)
	}
	if !e.begin(1<<20, l) || e.begin(probeItems*100-1, l) {
		t.Error("not tried again, or in a small batch")
	}
	if e.end(true); e.begin(1<<20, l) {
		t.Error("again at once")
	}
}

// A hiccup is forgotten with the piece that shows it, and not over a hundred batches.
func TestProbeForgets(t *testing.T) {
	const all, cpu = 36864, 1.5e6 // four lanes of a GPU and 16 cores
	l := Limits{Lanes: 4, Min: 256, Max: 8192}
	var e estimate
	e.pieces(50, 4096, 4e6, 0)
	if e.piece(l, all, all, cpu) == 0 {
		t.Fatal("not used from the beginning")
	}
	e.pieces(4, 4096, 4e6, 300*time.Millisecond)
	for e.end(true); !e.begin(all, l); e.end(false) {
		if n := e.piece(l, all, all, cpu); n > 0 {
			t.Fatalf("%d items after a hiccup", n)
		}
	}
	e.pieces(1, l.Min, 4e6, 0)
	if e.piece(l, all, all, cpu) == 0 {
		t.Error("a probe that went well changed nothing")
	}
	if e.pieces(1, l.Min, 1e6, 0); e.Rate() < 1.2e6 {
		t.Errorf("the piece after it counts alone, too: %.0f a second", e.Rate())
	}
}
