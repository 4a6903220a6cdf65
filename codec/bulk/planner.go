// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
)

// A Mode selects the engines of a batch.
type Mode uint8

// The modes.
const (
	// Shared divides each batch between the CPU and the engines.
	Shared Mode = iota
	// CPUAlone leaves the engines out.
	CPUAlone
	// EnginesAlone leaves to the CPU only items that no engine can do, even if the CPU would be
	// faster.
	EnginesAlone
)

// Config says how a planner divides work. The zero value suits most callers.
type Config struct {
	Mode Mode
	// Piece bounds the items of an engine's piece, if it is not 0; with EnginesAlone it is their
	// size.
	Piece int
	// Items is the size of the largest expected batch: a larger one allocates memory.
	Items int
}

// ErrClosed reports a planner that was closed.
var ErrClosed = errors.New("planner is closed")

// A Planner divides batches between the CPU and other engines. It is safe for concurrent use, and
// does one batch at a time.
type Planner struct {
	config   Config                      // immutable
	cpu      *CPU                        // immutable
	workers  []worker                    // of the CPU; during a batch each owns its element, else guarded by turn
	paces    [ops][]pace                 // of the CPU's workers; see pace
	engines  []*member                   // immutable
	classes  [ops]classing               // immutable
	running  sync.WaitGroup              // the goroutines of all lanes but the CPU's first
	turn     sync.Mutex                  // held while a batch runs
	closed   bool                        // guarded by turn
	ctx      context.Context             //nolint:containedctx // of the batch that runs; guarded by turn, and read by its lanes
	batch    *Batch                      // guarded by turn, and read by its lanes
	order    order                       // guarded by turn, and read by its lanes
	called   int                         // workers woken; guarded by turn, and read by its lanes
	atOnce   int                         // of these, those that begin at once; guarded by turn, and read by its lanes
	queue    queue                       // see queue
	lanes    sync.WaitGroup              // woken for the batch
	unwanted Report                      // of a batch whose caller asked for none; guarded by turn
	defect   atomic.Pointer[defectError] // what ended the batch early
}

// A defectError is a fatal error: an error of the CPU engine, which is a defect in a compression
// library, or pages that are torn.
type defectError struct{ error }

// A worker is a lane of the CPU, and its part of a batch.
type worker struct {
	call  chan struct{} // to work; nil for the first, which is Run's caller
	tally tally
	_     [64]byte // apart from the next one's in memory
}

// NewPlanner makes a planner. Unless it fails the planner owns the engines: [Planner.Close] closes
// them.
func NewPlanner(cpu *CPU, engines []Engine, c Config) (*Planner, error) {
	names := []string{cpu.Name()}
	for _, e := range engines {
		if slices.Contains(names, e.Name()) {
			return nil, fmt.Errorf("make planner: two engines are called %q", e.Name())
		}
		names = append(names, e.Name())
	}
	if len(engines) > maxEngines {
		return nil, fmt.Errorf("make planner: %d engines, at most %d can be used", len(engines), maxEngines)
	}
	if c.Items < 0 || c.Items > MaxItems || c.Piece < 0 || c.Piece > MaxItems {
		return nil, fmt.Errorf("make planner: batches of %d items and pieces of %d, each is 0 to %d", c.Items, c.Piece, MaxItems)
	}
	p := &Planner{config: c, cpu: cpu, workers: make([]worker, cpu.Limits().Lanes)}
	for _, e := range engines {
		p.engines = append(p.engines, newMember(e, c))
	}
	for op := range ops {
		p.paces[op] = make([]pace, len(p.workers))
		p.classes[op] = classify(op, p.engines)
	}
	p.queue.wake.L, p.queue.over.L = &p.queue.mu, &p.queue.mu
	p.order.grow(c.Items)
	p.start()
	return p, nil
}

// start starts a goroutine for each lane but one.
func (p *Planner) start() {
	for i := 1; i < len(p.workers); i++ {
		p.workers[i].call = make(chan struct{}, 1)
		p.running.Go(func() {
			for range p.workers[i].call {
				p.work(i)
				p.lanes.Done()
			}
		})
	}
	for _, m := range p.engines {
		for lane := range m.calls {
			p.running.Go(func() {
				for range m.calls[lane] {
					p.serve(m, lane)
					p.lanes.Done()
				}
			})
		}
	}
}

// Close waits for the current batch, ends all goroutines and closes the engines. It may be called
// more than once.
func (p *Planner) Close() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	for i := 1; i < len(p.workers); i++ {
		close(p.workers[i].call)
	}
	for _, m := range p.engines {
		for _, call := range m.calls {
			close(call)
		}
	}
	p.running.Wait()
	var errs []error
	for _, m := range p.engines {
		if err := m.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close engine %s: %w", m.Name(), err))
		}
	}
	return errors.Join(append(errs, p.cpu.Close())...)
}

// Run does a batch and returns when no engine touches it. It sets the Verdict of each item; corrupt
// items are no error. It fills r, if not nil, with the report of this batch alone.
//
// When the context is cancelled Run soon returns its error, and when a compression library fails,
// that failure: then some items are still Pending. So are they with an error that wraps [ErrTorn],
// after which Pages may change at any time. For an invalid batch the error wraps [ErrBatch], and
// for a closed planner [ErrClosed].
func (p *Planner) Run(ctx context.Context, b *Batch, r *Report) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.closed {
		return fmt.Errorf("%s %d items: %w", b.Op, b.N, ErrClosed)
	}
	if err := b.prepare(); err != nil {
		return err
	}
	began := now()
	p.ctx, p.batch = ctx, b
	p.defect.Store(nil)
	why := p.plan()
	p.dispatch()
	p.work(0)
	p.lanes.Wait()
	p.ctx, p.batch = nil, nil
	p.report(r, b, why, now().Sub(began))
	if defect := p.defect.Load(); defect != nil {
		return fmt.Errorf("%s %d items: %w", b.Op, b.N, defect.error)
	}
	return ctx.Err()
}

// SetMode changes the mode from the next batch on. Measured rates are kept.
func (p *Planner) SetMode(m Mode) {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.config.Mode = m
}

// plan selects the engines and fills the queue. If it selects none it returns why.
func (p *Planner) plan() (why Reason) {
	b, floor, lanes := p.batch, 0, 0
	why = Dead
	if p.config.Mode == CPUAlone || len(p.engines) == 0 {
		p.order.plain(b.N)
	} else {
		p.order.sort(b, &p.classes[b.Op])
	}
	for i, m := range p.engines {
		m.limit, m.called = 0, 0
		if p.config.Mode == CPUAlone || m.dead.Load() {
			continue
		}
		limit := p.order.limit(&p.classes[b.Op], i)
		switch {
		case limit == 0:
			why = Unreadable
		case p.config.Mode == Shared && limit < max(m.limits.Least, m.limits.Min):
			why = Small
		default:
			m.limit, m.called = limit, min(m.limits.Lanes, (limit+m.limits.Min-1)/m.limits.Min)
			lanes += m.called
			floor = max(floor, limit)
		}
	}
	if p.config.Mode != EnginesAlone {
		floor = 0
	}
	p.queue.reset(b.N, floor, lanes)
	p.called, p.atOnce = p.workersFor(b.N, lanes)
	return why
}

// workersFor returns how many of the CPU's workers a batch is given to: one if it is a single
// piece, and all if an engine may give items back. Of these half, or one for each lane of an
// engine, rest until the engines have ended: the lanes, and the threads of their drivers, need a
// core at once when a device has ended something. With 12 workers at work on 16 processors an H200
// verified 75 GB/s, with nine 98.
func (p *Planner) workersFor(n, lanes int) (called, atOnce int) {
	all := len(p.workers)
	switch {
	case lanes > 0:
		return all, max(1, all-min(lanes, max(1, all/2)))
	case n <= cpuMax:
		return 1, 1
	}
	called = min(all, (n+cpuMin-1)/cpuMin)
	return called, called
}

// dispatch wakes the lanes, those of engines first: they take longer to start.
func (p *Planner) dispatch() {
	for _, m := range p.engines {
		m.tally = tally{}
		for lane := range m.called {
			p.lanes.Add(1)
			m.calls[lane] <- struct{}{}
		}
	}
	for i := range p.workers {
		p.workers[i].tally = tally{}
		if i > 0 && i < p.called {
			p.lanes.Add(1)
			p.workers[i].call <- struct{}{}
		}
	}
}

// stopped reports whether the batch is to end early.
func (p *Planner) stopped() bool { return p.ctx.Err() != nil || p.defect.Load() != nil }

// pieceOf returns the piece at a span of the queue.
func (p *Planner) pieceOf(s span) Piece {
	return Piece{Batch: p.batch, Items: p.order.items[s.begin:s.end], At: s.begin * codec.PageSize, queue: &p.queue}
}
