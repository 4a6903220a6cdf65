// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"time"

	"github.com/zramfs/zramfs/codec"
)

// A pace measures the share of its time that a thread was at work, over the last requests. That
// decides how much time a page may take to compress: a thread that waits most of its time has
// plenty; one that always finds the next request waiting delays its callers. A pace belongs to its
// thread and costs two clock readings a request. The zero value is ready to use.
type pace struct {
	began time.Time     // start of the current request
	ended time.Time     // end of the last one
	work  time.Duration // decayed sums
	idle  time.Duration
	gap   time.Duration // waited for the last request
}

const (
	// paceDecay: with each request the weight of earlier ones falls by 1/32. The kernel swaps out
	// in batches of 32 pages (SWAP_CLUSTER_MAX): a single batch is not yet load.
	paceDecay = 32
	// A thread at work for up to easyShare of its time, in per cent, may use full effort; from
	// hardShare on it uses none.
	easyShare = 60
	hardShare = 92
	// paceLimit bounds the weight of one wait: a pause of a second counts as one of a millisecond.
	paceLimit = time.Millisecond
)

// begin starts the clock for a request.
func (p *pace) begin(now time.Time) {
	p.began = now
	if !p.ended.IsZero() {
		p.gap = now.Sub(p.ended)
		p.idle += min(now.Sub(p.ended), paceLimit) - p.idle/paceDecay
	}
}

// end stops it.
func (p *pace) end(now time.Time) {
	p.ended = now
	p.work += now.Sub(p.began) - p.work/paceDecay
}

// took returns how long the last request took.
func (p *pace) took() time.Duration { return p.ended.Sub(p.began) }

// share returns how much of its time the thread has worked, in per cent.
func (p *pace) share() int {
	all := p.work + p.idle
	if all <= 0 {
		return 0
	}
	return int(p.work * 100 / all)
}

// effort returns the compression effort for the current request, 0 to codec.MaxEffort.
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
