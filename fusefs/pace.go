// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"time"

	"github.com/zramfs/zramfs/codec"
)

// A pace is how busy a thread is: its share of time at work, over the last
// requests. From it follows how much time a page may take to compress. A thread that waits
// most of its time has plenty; one that finds the next request each time it comes
// back holds somebody up. It belongs to the thread, and costs two looks at the clock a
// request. The zero value is that of a thread which has done nothing yet.
type pace struct {
	began time.Time     // of the request under way
	ended time.Time     // of the last one
	work  time.Duration // decayed sums
	idle  time.Duration
	gap   time.Duration // that was waited for the last request
}

const (
	// paceDecay: a request counts for the time that it took, less a 32nd with each that
	// follows. The kernel swaps out in batches of 32 pages (SWAP_CLUSTER_MAX): one batch
	// is no storm, after which a thread has nothing to do for a while.
	paceDecay = 32
	// Up to easyShare of its time, in per cent, a thread has time for everything, and
	// from hardShare on for nothing.
	easyShare = 60
	hardShare = 92
	// paceLimit bounds what one wait can weigh: a pause of a second is no more idle
	// than one of a millisecond.
	paceLimit = time.Millisecond
	// expectGap: who has waited no longer than this for the last request can expect
	// the next one soon.
	expectGap = 500 * time.Microsecond
)

// begin notes that a request has come.
func (p *pace) begin(now time.Time) {
	p.began = now
	if !p.ended.IsZero() {
		p.gap = now.Sub(p.ended)
		p.idle += min(now.Sub(p.ended), paceLimit) - p.idle/paceDecay
	}
}

// end notes that it was carried out.
func (p *pace) end(now time.Time) {
	p.ended = now
	p.work += now.Sub(p.began) - p.work/paceDecay
}

// share is how much of its time the thread has worked, in per cent.
func (p *pace) share() int {
	all := p.work + p.idle
	if all <= 0 {
		return 0
	}
	return int(p.work * 100 / all)
}

// expects tells whether the next request may come soon to a thread that has time to
// look for it. A thread with little time would take the processor from whoever
// makes the requests.
func (p *pace) expects() bool { return p.gap < expectGap && p.share() <= easyShare }

// effort is the level for the request under way.
func (p *pace) effort() int {
	share := p.share()
	switch {
	case share <= easyShare:
		return codec.MaxEffort
	case share >= hardShare:
		return 0
	}
	return codec.MaxEffort * (hardShare - share) / (hardShare - easyShare)
}
