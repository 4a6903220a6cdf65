// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"sync"
	"testing"
	"time"
)

func newQueue(n, floor, lanes int) *queue {
	q := &queue{}
	q.wake.L, q.over.L = &q.mu, &q.mu
	q.reset(n, floor, lanes)
	return q
}

// However many take from both ends at once, each position is taken once, and what comes back once
// more.
func TestQueueGivesEachPositionOnce(t *testing.T) {
	const n, limit, engines, workers = 100000, 70000, 3, 4
	q := newQueue(n, 0, engines)
	var taken [n]uint8 // by the CPU, or by an engine that keeps it
	var all sync.WaitGroup
	for range engines {
		all.Go(func() {
			defer q.ended()
			for k := 0; ; k++ {
				s := q.head(97, limit)
				if s.count() == 0 {
					return
				}
				if s.end > limit {
					t.Errorf("%v is beyond the limit", s)
				}
				if k%2 == 0 {
					q.giveBack(s)
					continue
				}
				for i := s.begin; i < s.end; i++ {
					taken[i]++
				}
			}
		})
	}
	for range workers {
		all.Go(func() {
			for s := q.cpu(workers); s.count() > 0; s = q.cpu(workers) {
				if s.count() > cpuMax {
					t.Errorf("%v for a worker", s)
				}
				for i := s.begin; i < s.end; i++ {
					taken[i]++
				}
			}
		})
	}
	all.Wait()
	for i, times := range taken {
		if times != 1 {
			t.Fatalf("position %d was taken %d times", i, times)
		}
	}
}

// An engine gets nothing from its limit on.
func TestQueueLimit(t *testing.T) {
	q := newQueue(100, 0, 1)
	if s := q.head(80, 50); s != (span{0, 50}) {
		t.Errorf("%v", s)
	}
	if s := q.head(80, 50); s.count() != 0 {
		t.Errorf("%v", s)
	}
}

// Before the floor the CPU takes nothing while an engine is at work, and everything after.
func TestQueueFloor(t *testing.T) {
	q := newQueue(1000, 900, 1)
	got := 0
	for s := q.tail(1); s.count() > 0; s = q.tail(1) {
		got += s.count()
	}
	if got != 100 {
		t.Errorf("%d positions from the floor on", got)
	}
	q.ended()
	for s := q.cpu(1); s.count() > 0; s = q.cpu(1) {
		got += s.count()
	}
	if got != 1000 {
		t.Errorf("%d positions in the end", got)
	}
}

// Items that come back are one span where they were, and go to workers in parts.
func TestQueueJoinsWhatComesBack(t *testing.T) {
	q := newQueue(0, 0, 0)
	q.giveBack(span{0, 300})
	q.giveBack(span{300, 400})
	q.giveBack(span{500, 510})
	if len(q.back) != 2 || q.back[0] != (span{0, 400}) {
		t.Errorf("%v", q.back)
	}
	if s := q.cpu(2); s != (span{500, 510}) {
		t.Errorf("%v", s)
	}
	if s := q.cpu(2); s != (span{336, 400}) {
		t.Errorf("%v", s)
	}
}

// A worker's share is never more than a piece, nor nothing.
func TestCPUShare(t *testing.T) {
	for _, c := range []struct{ left, workers, want int }{
		{1, 1, 1}, {50, 1, 50}, {64, 1, 64}, {65, 1, 32}, {1 << 20, 1, 64}, {1 << 20, 64, 64}, {500, 4, 62}, {500, 16, 16}, {10, 4, 16},
	} {
		if got := cpuShare(c.left, c.workers); got != c.want {
			t.Errorf("%d left, %d workers: %d, want %d", c.left, c.workers, got, c.want)
		}
	}
}

// Workers that have nothing to do wait while an engine is at work: what comes back wakes all of
// them, since it may be enough for all, and so does the end of the last engine.
func TestQueueWakesAll(t *testing.T) {
	const workers, rounds = 3, 100
	for round := range rounds { // in some of them all workers wait before anything comes back
		q := newQueue(0, 0, 1)
		got := make(chan span, workers)
		wait := func(n int) {
			t.Helper()
			limit := time.After(time.Minute)
			for range n {
				select {
				case <-got:
				case <-limit:
					t.Fatalf("round %d: a worker sleeps on", round)
				}
			}
		}
		for range workers {
			go func() { got <- q.cpu(workers) }()
		}
		time.Sleep(time.Duration(round%10) * 100 * time.Microsecond)
		q.giveBack(span{0, workers * cpuMax})
		wait(workers)
		for range workers {
			go func() {
				for s := q.cpu(workers); s.count() > 0; s = q.cpu(workers) {
				}
				got <- span{}
			}()
		}
		time.Sleep(time.Duration(round%10) * 100 * time.Microsecond)
		q.ended()
		wait(workers)
	}
}
