// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// A Reason is why the CPU did what an engine might have done.
type Reason uint8

// The reasons. An item counts once, by the first that applies.
const (
	// Unreadable items are of codecs that no engine knows.
	Unreadable Reason = iota
	// Small batches are not worth waking an engine for.
	Small
	// Slow engines would have come back after the CPU had done the rest; the items of a batch count
	// here if no engine got any of it.
	Slow
	// Failed items are those of a piece for which an engine returned an error.
	Failed
	// Left items are those that an engine would not do, or thought damaged.
	Left
	// Dead engines get nothing: the items of a batch count here if all are.
	Dead

	// Reasons is how many there are.
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

// A Report says what was done with a batch, or with all whose reports were added up.
type Report struct {
	Op      Op
	Batches int
	Items   int
	Elapsed time.Duration
	Objects int64 // bytes of the objects that are done
	// Verdicts counts items by Verdict.
	Verdicts [verdicts]int
	// Fallbacks counts items that the CPU did although there was another engine, by Reason.
	Fallbacks [Reasons]int
	// Engines says who did what, the CPU first. Run uses the memory that is there.
	Engines []EngineReport
}

// An EngineReport is one engine's part.
type EngineReport struct {
	Name    string
	Items   int   // that it did: those that the CPU did again are the CPU's
	Pieces  int   // that it was given
	Batches int   // in which it was given any
	Objects int64 // bytes of the objects of its items
	// Lanes is how many of its lanes were called upon, at the most.
	Lanes int
	// Busy is for how long at least one piece was under way; for the CPU the workers' times added up.
	Busy time.Duration
	// Times are those of its stages, added up.
	Times Times
	// Rate is what it was last measured to do, in items a second; 0 if that is not known.
	Rate float64
	// Failures counts pieces that ended with an error, and Err is the last of them.
	Failures int
	Err      error
	// Dead says that it gets nothing any more.
	Dead bool
}

// Ratio is the bytes of its pages for each byte of their objects, 0 where it did none.
func (e *EngineReport) Ratio() float64 {
	if e.Objects == 0 {
		return 0
	}
	return float64(e.Items) * codec.PageSize / float64(e.Objects)
}

// BytesPerSecond is how many bytes of pages it did a second while it was busy, 0 where it never
// was; of the CPU that is what one worker did.
func (e *EngineReport) BytesPerSecond() float64 {
	if e.Busy <= 0 {
		return 0
	}
	return float64(e.Items) * codec.PageSize / e.Busy.Seconds()
}

// Share returns which part of the items an engine did, 0 to 1.
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

// report fills r, where it is not nil, and notes which engines were not used. The batch is over,
// and no lane at work.
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

// take adds what somebody did.
func (r *Report) take(t *tally) {
	r.Objects += t.objects
	for i, n := range t.verdicts {
		r.Verdicts[i] += n
	}
	for i, n := range t.fallbacks {
		r.Fallbacks[i] += n
	}
}

// cpuReport is the CPU's part of a batch.
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

// report is an engine's part of a batch.
func (m *member) report(b *Batch) EngineReport {
	t := &m.tally
	return EngineReport{
		Name: m.Name(), Items: t.items, Objects: t.objects, Pieces: t.pieces, Batches: min(t.pieces, 1), Lanes: m.called, Busy: t.busy, Times: t.times,
		Rate: m.speed[b.Op].Rate(), Failures: t.failures, Err: t.err, Dead: m.dead.Load(),
	}
}
