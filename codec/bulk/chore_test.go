// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// The CPU's workers do parts of what an engine spreads, although they have no items of their own.
func TestWorkersDoChores(t *testing.T) {
	const n = 4000
	e := newSecond(t, "lz4", codec.LZ4)
	e.limits = Limits{Lanes: 1, Least: 1, Min: 1000, Max: 1000}
	var helped atomic.Int64 // parts that were done while another part was under way
	var done [n]atomic.Int32
	e.chore = func(p Piece) {
		var under atomic.Int32
		p.Spread(len(p.Items), func(from, to int) {
			under.Add(1)
			for until := time.Now().Add(time.Second); under.Load() < 2 && time.Now().Before(until); {
				runtime.Gosched()
			}
			helped.Add(int64(under.Load()) - 1)
			for _, i := range p.Items[from:to] {
				done[i].Add(1)
			}
		})
	}
	p := newPlanner(t, newCPU(t, "lz4", 3), Config{Mode: EnginesAlone, Items: n}, e)
	b := mixed(t, somePages(n), "lz4")
	var r Report
	if err := p.Run(t.Context(), b, &r); err != nil {
		t.Fatal(err)
	}
	once, more := 0, 0
	for i := range done {
		switch done[i].Load() {
		case 0: // the CPU's, which stored it raw
		case 1:
			once++
		default:
			more++
		}
	}
	if once != r.Engines[1].Items || once < n/2 || more > 0 || helped.Load() == 0 {
		t.Errorf("%d items were done once and %d more often, of %d; %d parts beside others", once, more, r.Engines[1].Items, helped.Load())
	}
}

// A piece without a planner, and one whose workers are busy, is done by the lane.
func TestChoreWithoutWorkers(t *testing.T) {
	q := newQueue(0, 0, 1)
	for _, p := range []Piece{{}, {queue: q}} {
		sum := 0
		p.Spread(1000, func(from, to int) {
			for i := from; i < to; i++ {
				sum += i
			}
		})
		if sum != 999*1000/2 {
			t.Errorf("the sum is %d", sum)
		}
	}
	if q.help() || q.asked.Load() != 0 {
		t.Error("a chore is left")
	}
}

// Half of the workers leave their cores to engines, until these have ended.
func TestWorkersRest(t *testing.T) {
	for _, c := range []struct{ workers, lanes, called, atOnce int }{
		{1, 8, 1, 1}, {2, 8, 2, 1}, {16, 8, 16, 8}, {64, 8, 64, 56}, {16, 1, 16, 15}, {16, 0, 16, 16},
	} {
		p := &Planner{workers: make([]worker, c.workers)}
		if called, atOnce := p.workersFor(1<<20, c.lanes); called != c.called || atOnce != c.atOnce {
			t.Errorf("%d workers, %d lanes: %d, %d at once", c.workers, c.lanes, called, atOnce)
		}
	}
	q := newQueue(0, 0, 2)
	rested := make(chan struct{})
	go func() {
		q.rest()
		close(rested)
	}()
	q.ended()
	select {
	case <-rested:
		t.Fatal("a worker goes on while a lane is at work")
	case <-time.After(20 * time.Millisecond):
	}
	q.ended()
	<-rested
}
