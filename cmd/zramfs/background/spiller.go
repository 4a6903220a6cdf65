// SPDX-License-Identifier: Apache-2.0

package background

import (
	"sync"
	"time"

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
	// day is the window of the budget.
	day = 24 * time.Hour
)

// SpillDaily is how many bytes of pages a device spills in 24 hours at the most by default.
const SpillDaily = 1 << 30

// A Spiller moves the coldest pages of a store to its backing device where the memory limit comes
// near. Its methods are safe for concurrent use.
type Spiller struct {
	store *store.Store                                                // immutable
	spill func(age time.Duration, most int) (pages uint64, err error) // immutable
	age   func() time.Duration                                        // from which on pages are cold; immutable
	stop  chan struct{}                                               // closed by Close
	ended sync.WaitGroup
	done  []spilled // of the last 24 hours, the oldest first; used by the goroutine of Start

	mu     sync.Mutex
	status SpillStatus // guarded by mu
}

// A spilled is a round of spilling.
type spilled struct {
	at    time.Time
	bytes uint64
}

// SpillStatus says what a device has moved to its backing device by itself since its process began.
type SpillStatus struct {
	// DailyBytes is how many bytes of pages may be moved in 24 hours; 0 where none are.
	DailyBytes uint64 `json:"daily_bytes"`
	// State is "spilling", "waiting" for the memory limit to come near, or "off".
	State string `json:"state"`
	// Reason says why the state is off, or why pages are not moved although the limit is near;
	// empty where nothing is to be said.
	Reason string `json:"reason"`
	// SpentBytes is how many bytes of pages were moved in the last 24 hours.
	SpentBytes uint64 `json:"spent_bytes"`
	// Pages is the number of pages moved so far.
	Pages uint64 `json:"pages"`
}

// StateSpilling is the state of a Spiller at work; StateWaiting and StateOff are the others.
const StateSpilling = "spilling"

// NewSpiller returns a Spiller for s that does nothing yet. It has spill move up to a number of
// pages that were not accessed for an age, daily bytes of them in 24 hours at the most. A nil spill
// is for a store without a backing device. age is the age from which on pages are cold.
func NewSpiller(s *store.Store, daily uint64, age func() time.Duration, spill func(age time.Duration, most int) (uint64, error)) *Spiller {
	p := &Spiller{store: s, spill: spill, age: age, stop: make(chan struct{})}
	p.status = SpillStatus{DailyBytes: daily, State: StateWaiting}
	switch {
	case spill == nil:
		p.status = SpillStatus{State: StateOff, Reason: "no backing device"}
	case daily == 0:
		p.status = SpillStatus{State: StateOff, Reason: "switched off"}
	}
	return p
}

// Start spills in the background from now on.
func (p *Spiller) Start() {
	if p.Status().State != StateOff {
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
func (p *Spiller) Status() SpillStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *Spiller) run() {
	for {
		pause := p.round(fillOf(p.store.Stats()), time.Now())
		select {
		case <-p.stop:
			return
		case <-time.After(pause):
		}
	}
}

// round moves some pages where the store is nearly full, and returns how long to wait then.
func (p *Spiller) round(fill float64, now time.Time) time.Duration {
	spent := p.spent(now)
	if fill < scarce {
		p.say(func(s *SpillStatus) { s.State, s.Reason, s.SpentBytes = StateWaiting, "", spent })
		return fillEvery
	}
	most := min(uint64(min(fill, 1)*mostSpill), p.Status().DailyBytes-min(spent, p.Status().DailyBytes))
	if most < leastSpill {
		p.say(func(s *SpillStatus) {
			s.State, s.Reason, s.SpentBytes = StateWaiting, "all that may be moved in 24 hours was", spent
		})
		return spillAgain
	}
	age := max(p.age(), spillAge)
	if fill >= dire {
		age = leastAge
	}
	p.say(func(s *SpillStatus) { s.State, s.Reason = StateSpilling, "" })
	pages, err := p.spill(age, int(most/store.PageSize))
	if pages > 0 {
		p.done = append(p.done, spilled{now, pages * store.PageSize})
	}
	pause := time.Duration(fillEvery)
	p.say(func(s *SpillStatus) {
		s.State, s.SpentBytes = StateWaiting, spent+pages*store.PageSize
		s.Pages += pages
		switch {
		case err != nil:
			s.Reason, pause = err.Error(), spillFailed
		case pages == 0:
			s.Reason, pause = "no page is cold enough", spillAgain
		}
	})
	return pause
}

// spent is how many bytes of pages were moved in the 24 hours before now.
func (p *Spiller) spent(now time.Time) (bytes uint64) {
	for len(p.done) > 0 && now.Sub(p.done[0].at) >= day {
		p.done = p.done[1:]
	}
	for _, s := range p.done {
		bytes += s.bytes
	}
	return bytes
}

func (p *Spiller) say(change func(*SpillStatus)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
}
