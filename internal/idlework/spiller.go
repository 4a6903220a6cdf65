// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"errors"
	"sync"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

const (
	// leastSpill and mostSpill bound the bytes of pages in a round of spilling: mostSpill for a
	// full store, less in proportion. Less than leastSpill is not worth a round.
	leastSpill = 5 << 20
	mostSpill  = 300 << 20
	// spillAge is the least age of pages that are spilled from scarce on, leastAge from dire on.
	spillAge = 30 * time.Minute
	// spillAgain is the pause after a round that found no page, spillFailed after a failure.
	spillAgain  = time.Minute
	spillFailed = 10 * time.Minute
	// stepBytes is how much is spilled at a time, and stepTime how long that may take, with nothing
	// written in between, before the device counts as stuck.
	stepBytes = 8 << 20
	stepTime  = 2 * time.Second
)

// SpillDaily is how many bytes of pages a device spills in 24 hours at the most by default.
const SpillDaily = 1 << 30

// A Spiller moves the coldest pages of a store to its backing device where the memory limit comes
// near. Its methods are safe for concurrent use.
type Spiller struct {
	store *store.Store         // immutable
	mover Mover                // immutable
	age   func() time.Duration // from which on pages are cold; immutable
	stop  chan struct{}        // closed by Close
	asked chan struct{}        // has room for one call of Relieve
	wrote func() uint64        // how many pages the device was given so far, by anything; immutable
	ended sync.WaitGroup

	mu      sync.Mutex
	started bool         // guarded by mu
	status  status.Spill // guarded by mu
	began   time.Time    // when the present step began or moved on; zero between rounds; guarded by mu
	had     uint64       // what wrote said then; guarded by mu
	vain    time.Time    // until when a step would move nothing; guarded by mu
}

// A Mover moves pages of a store to its backing device.
type Mover interface {
	// Spill moves up to a number of pages that were not accessed for age, the coldest of them, and
	// returns how many.
	Spill(age time.Duration, most int) (pages uint64, err error)
	// Spent returns how many pages it has moved in the last 24 hours or some more.
	Spent(now time.Time) (pages uint64)
}

// NewSpiller returns a Spiller for s that does nothing yet. It has m move daily bytes of pages in
// 24 hours at the most. A nil m is for a store without a backing device. age is the age from which
// on pages are cold.
func NewSpiller(s *store.Store, daily uint64, age func() time.Duration, m Mover) *Spiller {
	p := &Spiller{store: s, mover: m, age: age, stop: make(chan struct{}), asked: make(chan struct{}, 1)}
	p.wrote = func() uint64 { return s.Stats().BackingWrites }
	p.status = status.Spill{DailyBytes: daily, State: status.Waiting}
	switch {
	case m == nil:
		p.status = status.Spill{State: status.Off, Reason: "no backing device"}
	case daily == 0:
		p.status = status.Spill{State: status.Off, Reason: "switched off"}
	}
	return p
}

// Start spills in the background from now on.
func (p *Spiller) Start() {
	if p.Status().State != status.Off {
		p.mu.Lock()
		p.started = true
		p.mu.Unlock()
		p.ended.Go(p.run)
	}
}

// Close ends what Start began, and waits for that. It is to be called before the store is closed.
func (p *Spiller) Close() error {
	close(p.stop)
	p.ended.Wait()
	return nil
}

// Status returns what the Spiller does now.
func (p *Spiller) Status() status.Spill {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Relieve has the Spiller make room at once, and reports whether it is about to: the store asks
// while writes wait. It does not block. Before Start it is not: a worker first finishes the writes
// that its predecessor left, one after the other, and serves nothing until then.
func (p *Spiller) Relieve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.started || stopped(p.stop) || p.status.State == status.Off || now.Before(p.vain) || p.stuck(now) {
		return false
	}
	select {
	case p.asked <- struct{}{}:
	default: // it was asked already
	}
	return true
}

// stuck reports whether the present step has not moved on for too long. It may wait for a writeback
// that an operator asked for, which makes room as well. The caller holds mu.
func (p *Spiller) stuck(now time.Time) bool {
	if p.began.IsZero() || now.Sub(p.began) <= stepTime {
		return false
	}
	if n := p.wrote(); n != p.had {
		p.began, p.had = now, n
		return false
	}
	return true
}

func (p *Spiller) run() {
	for pause := time.Duration(0); ; {
		select {
		case <-p.stop:
			return
		case <-p.asked:
			p.relieve(time.Now())
		case <-time.After(pause):
			pause = p.round(fillOf(p.store.Stats()), time.Now())
		}
	}
}

// round moves some pages where the store is nearly full, and returns how long to wait then.
func (p *Spiller) round(fill float64, now time.Time) time.Duration {
	if fill < scarce {
		spent := p.spent(now)
		p.say(func(s *status.Spill) { s.State, s.Reason, s.SpentBytes = status.Waiting, "", spent })
		return fillEvery
	}
	age := max(p.age(), spillAge)
	if fill >= dire {
		age = leastAge
	}
	return p.move(now, uint64(min(fill, 1)*mostSpill), age)
}

// relieve moves some pages of a full store, of any age: writes wait for their memory.
func (p *Spiller) relieve(now time.Time) { p.move(now, stepBytes, 0) }

// move moves up to most bytes of pages of an age, within the budget, and returns how long to wait
// before more can be moved.
func (p *Spiller) move(now time.Time, most uint64, age time.Duration) (pause time.Duration) {
	spent, daily := p.spent(now), p.Status().DailyBytes
	most = min(most, daily-min(spent, daily))
	if most < leastSpill {
		p.say(func(s *status.Spill) {
			s.State, s.Reason, s.SpentBytes = status.Waiting, "all that may be moved in 24 hours was", spent
			p.vain = now.Add(spillAgain)
		})
		return spillAgain
	}
	pages, err := p.steps(int(most/store.PageSize), age)
	spent, pause = p.spent(now), fillEvery
	p.say(func(s *status.Spill) {
		s.State, s.SpentBytes = status.Waiting, spent
		s.Pages += pages
		p.began = time.Time{}
		switch {
		case errors.Is(err, store.ErrBackingFull), errors.Is(err, store.ErrFull): // for now
			s.Reason, pause = err.Error(), spillAgain
			p.vain = now.Add(stepTime)
		case err != nil:
			s.Reason, pause = err.Error(), spillFailed
			p.vain = now.Add(pause)
		case pages == 0:
			s.Reason, pause = "no page is cold enough", spillAgain
			if age == 0 {
				p.vain = now.Add(stepTime)
			}
		}
	})
	return pause
}

// steps moves up to most pages until a step finds too few, an error ends it or Close does, and
// returns how many.
func (p *Spiller) steps(most int, age time.Duration) (pages uint64, err error) {
	for pages < uint64(most) && err == nil && !stopped(p.stop) {
		p.say(func(s *status.Spill) { s.State, s.Reason, p.began, p.had = status.Spilling, "", time.Now(), p.wrote() })
		step, n := min(most-int(pages), stepBytes/store.PageSize), uint64(0)
		n, err = p.mover.Spill(age, step)
		if pages += n; n < uint64(step) {
			break
		}
	}
	return pages, err
}

// spent is how many bytes of pages were moved in the 24 hours before now.
func (p *Spiller) spent(now time.Time) (bytes uint64) { return p.mover.Spent(now) * store.PageSize }

func (p *Spiller) say(change func(*status.Spill)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
}
