// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// A Reason is why the CPU did an item in place of an engine.
type Reason uint8

// The reasons. An item counts once, by the first that applies.
const (
	// Unreadable items are of codecs that no engine knows.
	Unreadable Reason = iota
	// Small batches are not worth waking an engine for.
	Small
	// Slow engines would have finished after the CPU; the items of a batch count here if no engine
	// got any.
	Slow
	// Failed items are those of a piece for which an engine returned an error.
	Failed
	// Left items were left Pending by an engine.
	Left
	// Dead engines get no work: the items of a batch count here if all engines are dead.
	Dead

	// Reasons is the number of reasons.
	Reasons
)

// String returns the reason in one word.
func (r Reason) String() string {
	switch r {
	case Unreadable:
		return "unreadable"
	case Small:
		return "small"
	case Slow:
		return "slow"
	case Failed:
		return "failed"
	case Left:
		return "left"
	case Dead:
		return "dead"
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// A Report is the account of a batch, or the sum of several.
type Report struct {
	Op      Op
	Batches int
	Items   int
	Elapsed time.Duration
	Objects int64 // bytes of the objects that are done
	// Verdicts counts items by Verdict.
	Verdicts [verdicts]int
	// Fallbacks counts, by Reason, items that the CPU did in place of an engine.
	Fallbacks [Reasons]int
	// Engines has each engine's part, the CPU first. Run reuses its memory.
	Engines []EngineReport
}

// An EngineReport is one engine's part.
type EngineReport struct {
	Name    string
	Items   int   // done by it; items that the CPU did again are the CPU's
	Pieces  int   // given to it
	Batches int   // in which it was given pieces
	Objects int64 // bytes of the objects of its items
	// Lanes is the largest number of its lanes that were woken.
	Lanes int
	// Busy is the time with at least one piece under way; for the CPU the sum of the workers'
	// times.
	Busy time.Duration
	// Times are the sums of its stages.
	Times Times
	// Rate is its last measured speed, in items a second; 0 if unknown.
	Rate float64
	// Failures counts pieces that ended with an error, and Err is the last one.
	Failures int
	Err      error
	// Dead: it gets no more work.
	Dead bool
}

// Ratio returns the bytes of its pages for each byte of their objects, 0 if it did none.
func (e *EngineReport) Ratio() float64 {
	if e.Objects == 0 {
		return 0
	}
	return float64(e.Items) * codec.PageSize / float64(e.Objects)
}

// BytesPerSecond returns the bytes of pages a second of Busy, 0 if it was never busy; for the CPU
// that is one worker's speed.
func (e *EngineReport) BytesPerSecond() float64 {
	if e.Busy <= 0 {
		return 0
	}
	return float64(e.Items) * codec.PageSize / e.Busy.Seconds()
}

// Share returns the fraction of items that an engine did, 0 to 1.
func (r *Report) Share(engine string) float64 {
	for i := range r.Engines {
		if r.Engines[i].Name == engine && r.Items > 0 {
			return float64(r.Engines[i].Items) / float64(r.Items)
		}
	}
	return 0
}

// Add adds the report of another batch of the same planner.
func (r *Report) Add(o *Report) {
	r.Op = o.Op
	r.Batches += o.Batches
	r.Items += o.Items
	r.Elapsed += o.Elapsed
	r.Objects += o.Objects
	for i, n := range o.Verdicts {
		r.Verdicts[i] += n
	}
	for i, n := range o.Fallbacks {
		r.Fallbacks[i] += n
	}
	for i := range o.Engines {
		if i == len(r.Engines) {
			r.Engines = append(r.Engines, EngineReport{})
		}
		r.Engines[i].add(&o.Engines[i])
	}
}

func (e *EngineReport) add(o *EngineReport) {
	e.Name, e.Rate, e.Dead = o.Name, o.Rate, o.Dead
	e.Items += o.Items
	e.Objects += o.Objects
	e.Pieces += o.Pieces
	e.Batches += o.Batches
	e.Lanes = max(e.Lanes, o.Lanes)
	e.Busy += o.Busy
	e.Times.add(o.Times)
	e.Failures += o.Failures
	if o.Err != nil {
		e.Err = o.Err
	}
}

// report fills r, if not nil, and records which engines were not used. The batch has ended, and no
// lane is at work.
func (p *Planner) report(r *Report, b *Batch, why Reason, elapsed time.Duration) {
	if r == nil {
		r = &p.unwanted
	}
	*r = Report{Op: b.Op, Batches: 1, Items: b.N, Elapsed: elapsed, Engines: append(r.Engines[:0], p.cpuReport(b))}
	for i := range p.workers {
		r.take(&p.workers[i].tally)
	}
	limit, used, called := 0, false, false
	for _, m := range p.engines {
		r.take(&m.tally)
		r.Engines = append(r.Engines, m.report(b))
		if m.called > 0 {
			m.speed[b.Op].end(m.tally.pieces > 0)
			limit, called = max(limit, m.limit), true
			used = used || m.tally.pieces > 0
		}
	}
	r.Verdicts[Pending] = b.N - r.Verdicts[Done] - r.Verdicts[Corrupt] - r.Verdicts[NoDictionary] - r.Verdicts[Skipped]
	switch {
	case len(p.engines) == 0 || p.config.Mode == CPUAlone:
	case !called:
		r.Fallbacks[why] += b.N
	default:
		r.Fallbacks[Unreadable] += b.N - limit
		if !used {
			r.Fallbacks[Slow] += limit
		}
	}
}

// take adds one worker's or engine's part.
func (r *Report) take(t *tally) {
	r.Objects += t.objects
	for i, n := range t.verdicts {
		r.Verdicts[i] += n
	}
	for i, n := range t.fallbacks {
		r.Fallbacks[i] += n
	}
}

// cpuReport returns the CPU's part of a batch.
func (p *Planner) cpuReport(b *Batch) EngineReport {
	e := EngineReport{Name: p.cpu.Name(), Lanes: p.called, Rate: cpuRate(p.paces[b.Op])}
	for i := range p.workers {
		t := &p.workers[i].tally
		e.Items += t.items
		e.Objects += t.objects
		e.Pieces += t.pieces
		e.Busy += t.busy
	}
	e.Batches = min(e.Pieces, 1)
	return e
}

// report returns an engine's part of a batch.
func (m *member) report(b *Batch) EngineReport {
	t := &m.tally
	return EngineReport{
		Name: m.Name(), Items: t.items, Objects: t.objects, Pieces: t.pieces, Batches: min(t.pieces, 1), Lanes: m.called, Busy: t.busy, Times: t.times,
		Rate: m.speed[b.Op].Rate(), Failures: t.failures, Err: t.err, Dead: m.dead.Load(),
	}
}
