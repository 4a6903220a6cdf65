// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"time"

	"zramfs/codec"
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
}

const (
	// paceDecay: a request counts for what has passed since, less an eighth with
	// each that follows. A storm is felt after some requests, and forgotten as soon.
	paceDecay = 8
	// Up to easyShare of its time, in per cent, a thread has time for everything, and
	// from hardShare on for nothing.
	easyShare = 60
	hardShare = 92
	// paceLimit bounds what one wait can weigh: a pause of a second is no more idle
	// than one of a millisecond.
	paceLimit = time.Millisecond
)

// begin notes that a request has come.
func (p *pace) begin(now time.Time) {
	p.began = now
	if !p.ended.IsZero() {
		p.idle += min(now.Sub(p.ended), paceLimit) - p.idle/paceDecay
	}
}

// end notes that it was carried out.
func (p *pace) end(now time.Time) {
	p.ended = now
	p.work += now.Sub(p.began) - p.work/paceDecay
}

// effort is the level for the request under way.
func (p *pace) effort() int {
	all := p.work + p.idle
	if all <= 0 {
		return codec.MaxEffort
	}
	share := int(p.work * 100 / all)
	switch {
	case share <= easyShare:
		return codec.MaxEffort
	case share >= hardShare:
		return 0
	}
	return codec.MaxEffort * (hardShare - share) / (hardShare - easyShare)
}
