// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

const (
	// ScrubEvery is from the end of one scrub to the beginning of the next by default.
	ScrubEvery = 24 * time.Hour
	// LeastScrub is the least time that may be asked for.
	LeastScrub = time.Minute
	// firstShare: the first scrub of a process begins after this part of the time.
	firstShare = 24
	// mostNamed is how many damaged pages are named.
	mostNamed = 16
)

// ParseEvery reads "off", which is 0, or a duration of at least LeastScrub.
func ParseEvery(text string) (time.Duration, error) {
	if text == off {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < LeastScrub {
		return 0, fmt.Errorf("%q is no time between scrubs: give %s or more, as 24h, or off", text, LeastScrub)
	}
	return d, nil
}

// A Scrubber proves the checksums of a store's pages now and then. Its methods are safe for
// concurrent use.
type Scrubber struct {
	every   time.Duration     // immutable; 0 for never
	store   *store.Store      // immutable
	damaged func(page uint64) // immutable
	pacer   pacer
	ended   sync.WaitGroup

	mu     sync.Mutex
	status status.Scrub // guarded by mu
}

// NewScrubber returns a Scrubber for s that does nothing yet, nor while the machine is busy. It
// tells damaged the number of each page whose read would fail, from a goroutine of its own.
func NewScrubber(s *store.Store, every time.Duration, busy Throttle, damaged func(page uint64)) *Scrubber {
	c := &Scrubber{every: every, store: s, damaged: damaged, pacer: newPacer(Default, busy)}
	c.status = status.Scrub{EverySeconds: every.Seconds(), State: status.Waiting, DamagedPages: []uint64{}}
	if every == 0 {
		c.status.State = status.Off
	}
	return c
}

// Start scrubs in the background from now on, on a thread as a Packer has it.
func (c *Scrubber) Start(behind LowPriority) {
	if c.every != 0 {
		c.ended.Go(func() { behind(c.run) })
	}
}

// Close ends what Start began, and waits for that. It is to be called before the store is closed.
func (c *Scrubber) Close() error {
	close(c.pacer.stop)
	c.ended.Wait()
	return nil
}

// Status returns what the Scrubber does now.
func (c *Scrubber) Status() status.Scrub {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

func (c *Scrubber) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.ended.Go(func() { <-c.pacer.stop; cancel() })
	for next := time.After(c.every / firstShare); ; next = time.After(c.every) {
		select {
		case <-c.pacer.stop:
			return
		case <-next:
			c.scrub(ctx)
		}
	}
}

// scrub proves all pages once.
func (c *Scrubber) scrub(ctx context.Context) {
	c.say(func(s *status.Scrub) { s.State = status.Scrubbing })
	named := []uint64{}
	c.pacer.begin()
	did, err := c.store.Scrub(ctx, func(page uint64) {
		if len(named) < mostNamed {
			named = append(named, page)
		}
		c.damaged(page)
	}, c.rest)
	c.say(func(s *status.Scrub) {
		s.State, s.Reason = status.Waiting, ""
		if err == nil {
			now := time.Now()
			s.Ended, s.Pages, s.Damaged, s.DamagedPages = &now, did.Pages, did.Damaged, named
		} else if !errors.Is(err, context.Canceled) {
			s.Reason = err.Error()
		}
	})
}

// rest is what the store calls after each piece.
func (c *Scrubber) rest() {
	took := c.pacer.rest(func(reason string) { c.say(func(s *status.Scrub) { s.Reason = reason }) })
	c.say(func(s *status.Scrub) { s.SpentSeconds += took.Seconds() })
}

func (c *Scrubber) say(change func(*status.Scrub)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.status)
}
