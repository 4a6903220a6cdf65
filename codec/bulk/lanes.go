// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maxFailures is the number of errors in a row after which an engine gets no more work.
const maxFailures = 3

// now is the clock.
func now() time.Time { return time.Now() }

// A tally counts one worker's or engine's part of a batch.
type tally struct {
	items, pieces int
	objects       int64
	busy          time.Duration
	times         Times
	verdicts      [verdicts]int
	fallbacks     [Reasons]int
	failures      int
	err           error
}

// count counts the items of a piece by their verdicts; those not Pending are done by the tally's
// owner.
func (t *tally) count(p Piece) {
	for _, i := range p.Items {
		v := p.Verdict[i]
		t.verdicts[v]++
		if v == Done {
			t.objects += int64(p.Length[i])
		}
	}
}

// A member is an engine of a planner.
type member struct {
	Engine
	limits Limits          // immutable
	calls  []chan struct{} // to work, one for each lane; immutable
	speed  [ops]estimate   // see estimate
	dead   atomic.Bool     // it gets no more work
	limit  int             // it can do the items before this position; guarded by Planner.turn, and read by its lanes
	called int             // lanes woken; guarded by Planner.turn, and read by its lanes
	known  [][]byte        // registered regions; guarded by Planner.turn

	mu       sync.Mutex
	tally    tally // guarded by mu during a batch, else by Planner.turn
	failures int   // in a row; guarded by mu
}

func newMember(e Engine, c Config) *member {
	m := &member{Engine: e, limits: e.Limits()}
	if c.Piece > 0 {
		m.limits.Max = min(max(m.limits.Max, 1), c.Piece)
		m.limits.Min = min(m.limits.Min, c.Piece)
	}
	m.limits = m.limits.clean()
	m.calls = make([]chan struct{}, m.limits.Lanes)
	for i := range m.calls {
		m.calls[i] = make(chan struct{}, 1)
	}
	return m
}

// work is a worker of the CPU, from the beginning to the end of a batch.
func (p *Planner) work(lane int) {
	t, speed := &p.workers[lane].tally, &p.paces[p.batch.Op][lane]
	if lane >= p.atOnce {
		p.queue.rest()
	}
	for !p.stopped() {
		s := p.queue.cpu(p.called)
		if s.count() == 0 {
			return
		}
		piece := p.pieceOf(s)
		began := now()
		if p.batch.Before != nil {
			p.batch.Before(piece.Items)
		}
		if _, err := p.cpu.Do(p.ctx, lane, piece); err != nil {
			if p.ctx.Err() == nil {
				p.defect.CompareAndSwap(nil, &defectError{err})
			}
			return
		}
		if p.batch.After != nil {
			p.batch.After(piece.Items)
		}
		took := now().Sub(began)
		speed.learn(s.count(), took)
		t.busy += took
		t.pieces++
		t.items += s.count()
		t.count(piece)
		if len(p.engines) > 0 {
			runtime.Gosched() // an engine's lane may be ready, and the workers occupy all cores
		}
	}
}

// serve is a lane of another engine, from the beginning to the end of a batch.
func (p *Planner) serve(m *member, lane int) {
	defer p.queue.ended()
	probe := lane == 0 && m.speed[p.batch.Op].begin(m.limit, m.limits)
	for !p.stopped() && !m.dead.Load() {
		n := p.next(m)
		if n == 0 && probe {
			n = m.limits.Min
		}
		probe = false
		s := p.queue.head(n, m.limit)
		if s.count() == 0 {
			return
		}
		p.give(m, lane, s)
	}
}

// next returns how many items to give an engine, 0 to end its part.
func (p *Planner) next(m *member) int {
	there := p.queue.left()
	left := min(m.limit, there.end) - there.begin
	if p.config.Mode == EnginesAlone {
		return min(left, m.limits.Max)
	}
	op := p.batch.Op
	return m.speed[op].piece(m.limits, left, there.count(), cpuRate(p.paces[op][:p.atOnce]))
}

// give gives an engine a piece, and the CPU the items that do not come back done.
func (p *Planner) give(m *member, lane int, s span) {
	piece := p.pieceOf(s)
	if before := p.batch.Before; before != nil {
		piece.Spread(s.count(), func(from, to int) { before(piece.Items[from:to]) })
	}
	began := now()
	times, err := m.Do(p.ctx, lane, piece)
	ended := now()
	if errors.Is(err, ErrTorn) {
		p.defect.Store(&defectError{fmt.Errorf("engine %s: %w", m.Name(), err)}) // replaces any other error: the pages must not be used
		m.fail(p.undo(piece), times, ended.Sub(began), err)
		return
	}
	if err != nil && p.ctx.Err() != nil {
		p.undo(piece)
		return
	}
	if err != nil {
		m.fail(p.undo(piece), times, ended.Sub(began), err)
		p.queue.giveBack(s)
		return
	}
	busy := m.speed[p.batch.Op].learn(s.count(), began, ended)
	left := p.left(piece)
	m.count(piece, left, times, busy)
	if after := p.batch.After; after != nil && left < s.count() {
		piece.Spread(s.count(), func(from, to int) { after(piece.Items[from:to]) })
	}
	if left > 0 {
		p.giveBackLeft(piece, s)
	}
}

// fail counts a piece that ended with an error after some time, and the items that the CPU has to
// do.
func (m *member) fail(undone int, times Times, took time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tally.pieces++
	m.tally.times.add(times)
	m.tally.busy += took
	m.tally.fallbacks[Failed] += undone
	m.tally.failures++
	m.tally.err = err
	if m.failures++; m.failures >= maxFailures || errors.Is(err, ErrDead) || errors.Is(err, ErrTorn) {
		m.dead.Store(true)
	}
}

// count counts a piece and the items of it that were left.
func (m *member) count(piece Piece, left int, times Times, busy time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = 0
	m.tally.pieces++
	m.tally.times.add(times)
	m.tally.busy += busy
	m.tally.fallbacks[Left] += left
	if left < len(piece.Items) {
		m.tally.items += len(piece.Items) - left
		m.tally.count(piece)
		m.tally.verdicts[Pending] -= left
	}
}

// undo makes the items of a piece Pending again, and counts them.
func (p *Planner) undo(piece Piece) (undone int) {
	for _, i := range piece.Items {
		if piece.Verdict[i] != Skipped {
			piece.Verdict[i] = Pending
			undone++
		}
	}
	return undone
}

// left makes the items that an engine has not done Pending and counts them. An engine's compressed
// objects may lie anywhere in the piece's part of the arena, where the CPU would write, so an
// incomplete piece of Compress is undone as a whole.
func (p *Planner) left(piece Piece) (left int) {
	for _, i := range piece.Items {
		if v := piece.Verdict[i]; v != Done && v != Skipped {
			piece.Verdict[i] = Pending
			left++
		}
	}
	if left > 0 && piece.Op == Compress {
		p.undo(piece)
		return len(piece.Items)
	}
	return left
}

// giveBackLeft gives the CPU the Pending items of a piece that stands at s in the queue.
func (p *Planner) giveBackLeft(piece Piece, s span) {
	if piece.Op == Compress {
		p.queue.giveBack(s)
		return
	}
	for at := 0; at < len(piece.Items); at++ {
		begin := at
		for at < len(piece.Items) && piece.Verdict[piece.Items[at]] == Pending {
			at++
		}
		if at > begin {
			p.queue.giveBack(span{s.begin + begin, s.begin + at})
		}
	}
}
