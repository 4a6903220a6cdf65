// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// algorithm makes the objects of cold pages.
const algorithm = "page:dense"

const (
	// every is from one look at the ages to the next, and fillEvery to how full the store is.
	every     = time.Minute
	fillEvery = 10 * time.Second
)

// A Packer packs the pages of a store that are not used: first each by itself, which takes little
// time, and neighbours in clusters once they are cold. Its methods are safe for concurrent use.
type Packer struct {
	share  Share           // immutable
	store  *store.Store    // immutable
	every  time.Duration   // immutable
	fill   func() float64  // how full the store is, as fillOf has it; immutable
	filled <-chan struct{} // immutable; has a value where the store is fuller than before; nil for never
	pacer  pacer           // its share is that of the present run
	ended  sync.WaitGroup
	recomp *store.Recompressor // nil where nothing is packed; used by the goroutine of Start
	joiner *store.Clusterer    // as recomp
	before status.Cold         // of the present run; as recomp
	packed store.Recompressed  // what it has done so far; as recomp
	joined store.Recompressed  // likewise
	level  level               // of the present run; as recomp
	looked time.Time           // when the run last looked at the level of now; as recomp
	end    func()              // ends the present run; as recomp
	again  bool                // it was ended to begin anew at another level; as recomp

	mu     sync.Mutex
	status status.Cold // guarded by mu
}

// NewPacker returns a Packer for s that does nothing yet, and nothing while the machine is busy
// unless a lowered limit makes writes fail. A value from filled, which may be nil, has it look at
// once. Where nothing can be packed its status says why.
func NewPacker(s *store.Store, share Share, busy Throttle, filled <-chan struct{}) *Packer {
	p := &Packer{share: share, store: s, every: every, filled: filled, fill: func() float64 { return fillOf(s.Stats()) }}
	p.pacer = newPacer(share, func() string {
		if p.fill() > 1 {
			return ""
		}
		return busy()
	})
	p.status = status.Cold{Share: int(share), State: status.Waiting, AgeSeconds: mostAge.Seconds()}
	err := p.prepare()
	if err != nil {
		p.recomp = nil
		p.status.Share, p.status.State, p.status.Reason = 0, status.Off, err.Error()
	}
	return p
}

func (p *Packer) prepare() error {
	if p.share == 0 {
		return errors.New("switched off")
	}
	a, err := codec.Parse(algorithm)
	if err != nil {
		return err
	}
	if p.recomp, err = p.store.NewRecompressor(store.RecompressConfig{Algorithm: a, Rest: p.restAfter(&p.packed)}); err != nil {
		return err
	}
	p.joiner = p.store.NewClusterer(a, p.restAfter(&p.joined))
	return nil
}

// Start looks and packs in the background from now on, on a thread that behind chooses.
func (p *Packer) Start(behind LowPriority) {
	if p.recomp != nil {
		p.ended.Go(func() { behind(p.run) })
	}
}

// Close ends what Start began, and waits for that. It is to be called before the store is closed.
func (p *Packer) Close() error {
	close(p.pacer.stop)
	p.ended.Wait()
	return nil
}

// Status returns what the Packer does now.
func (p *Packer) Status() status.Cold {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *Packer) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.ended.Go(func() { <-p.pacer.stop; cancel() })
	var ages ageFinder
	last := time.Now().Add(-p.every)
	for {
		stats, now := p.store.Stats(), time.Now()
		fill, due := fillOf(stats), now.Sub(last) >= p.every
		if due {
			age := ages.look(stats.Ages.Refaults, stats.OrigDataSize/store.PageSize, now.Sub(last))
			last = now
			p.say(func(s *status.Cold) { s.AgeSeconds, s.ReadRate = age.Seconds(), ages.rate })
		}
		if due || fill >= scarce {
			var from from
			p.level = levelOf(fill)
			from, p.pacer.share = packLimits(fill, ages.age(), p.share)
			p.pack(ctx, from)
			if p.again {
				continue
			}
		}
		select {
		case <-p.pacer.stop:
			return
		case <-p.filled:
		case <-time.After(min(p.every, fillEvery)):
		}
	}
}

// The parts of the memory limit from which on packing is not choosy.
const (
	scarce = 0.8
	dire   = 0.9
)

// fillOf is the part of its memory limit that the store takes, 0 without a limit.
func fillOf(s store.Stats) float64 {
	if s.MemLimit == 0 {
		return 0
	}
	return float64(s.MemUsedTotal) / float64(s.MemLimit)
}

// A level says how near the memory limit is.
type level int

const (
	plenty level = iota
	scarcely
	critical
	beyond // a limit that was lowered
)

// levelOf is the level where that part of the memory limit is taken.
func levelOf(fill float64) level {
	switch {
	case fill > 1:
		return beyond
	case fill >= dire:
		return critical
	case fill >= scarce:
		return scarcely
	}
	return plenty
}

// A from says from which age on pages are packed, each by itself, and joined.
type from struct{ packed, joined time.Duration }

// packLimits says which pages are packed, and in which share of the time, where pages are cold from
// an age on. By itself each page is packed long before it is cold: a read of page:dense takes 0.7
// us longer than one of page, and one of a cluster 20 us. Where memory runs out, writes that fail
// cost more than the time for pages that are read again. Beyond a limit that was lowered all writes
// fail, so pages of any age are packed.
func packLimits(fill float64, cold time.Duration, share Share) (from, Share) {
	switch levelOf(fill) {
	case beyond:
		return from{}, min(16*share, 100)
	case critical:
		soon := min(cold, leastAge/4)
		return from{soon, soon}, min(8*share, 100)
	case scarcely:
		soon := min(cold, leastAge)
		return from{soon, soon}, min(4*share, 100)
	}
	return from{min(cold, leastAge), cold}, share
}

// pack packs and joins what is old enough, if the machine has time.
func (p *Packer) pack(ctx context.Context, from from) {
	p.again = false
	if reason := p.pacer.busy(); reason != "" {
		p.say(func(s *status.Cold) { s.State, s.Reason = status.Waiting, reason })
		return
	}
	p.say(func(s *status.Cold) { s.State, s.Reason = status.Packing, "" })
	ctx, p.end = context.WithCancel(ctx)
	defer p.end()
	p.looked = time.Now()
	p.before, p.packed, p.joined = p.Status(), store.Recompressed{}, store.Recompressed{}
	var err error
	if p.packed, err = p.recomp.Run(ctx, from.packed); err == nil {
		p.joined, err = p.joiner.Run(ctx, from.joined)
	}
	p.say(func(s *status.Cold) {
		p.add(s)
		s.State, s.Reason = status.Waiting, ""
		if err != nil && ctx.Err() == nil {
			s.Reason = fmt.Sprint(err)
		}
	})
}

// add sets the counts to what they were before the present run and what that has done.
func (p *Packer) add(s *status.Cold) {
	s.Pages, s.Joined = p.before.Pages+p.packed.Pages, p.before.Joined+p.joined.Pages
	s.SavedBytes = p.before.SavedBytes + p.packed.SavedBytes + p.joined.SavedBytes
}

// restAfter returns what the store calls after each piece of a part of a run; did is to say how far
// that is.
func (p *Packer) restAfter(did *store.Recompressed) func(store.Recompressed) {
	return func(sofar store.Recompressed) {
		*did = sofar
		took := p.pacer.rest(func(reason string) { p.say(func(s *status.Cold) { s.Reason = reason }) })
		p.say(func(s *status.Cold) {
			p.add(s)
			s.SpentSeconds += took.Seconds()
		})
		p.look()
	}
}

// look ends the present run where the memory limit has come nearer than it was when the run began,
// or a lowered one is kept by now: a run may take hours, and the next one goes on where it ends.
func (p *Packer) look() {
	if time.Since(p.looked) < lookAround {
		return
	}
	p.looked = time.Now()
	if now := levelOf(p.fill()); now > p.level || now < p.level && p.level == beyond {
		p.again = true
		p.end()
	}
}

func (p *Packer) say(change func(*status.Cold)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.status)
}
