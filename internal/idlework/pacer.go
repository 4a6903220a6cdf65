// SPDX-License-Identifier: Apache-2.0

package idlework

import "time"

// lookAround is how often work looks whether the machine has become busy.
const lookAround = time.Second

// A pacer keeps work within a share of one processor. One goroutine uses it, but for stop.
type pacer struct {
	share Share
	busy  Throttle
	stop  chan struct{} // closed when the work is to end

	woke, looked time.Time
}

func newPacer(share Share, busy Throttle) pacer {
	return pacer{share: share, busy: busy, stop: make(chan struct{})}
}

// begin is called before the first piece of work, which else counts for nothing.
func (p *pacer) begin() { p.woke = time.Now() }

// rest is called after each piece of work, and returns the time that the piece took. It sleeps so
// that work takes no more than its share, and for as long as the machine is busy; say is told why
// it waits.
func (p *pacer) rest(say func(reason string)) (took time.Duration) {
	now := time.Now()
	if took = now.Sub(p.woke); took > lookAround { // the first piece, or the machine slept
		took = 0
	}
	p.sleep(took*100/time.Duration(p.share) - took)
	for time.Since(p.looked) > lookAround && !stopped(p.stop) {
		p.looked = time.Now()
		reason := p.busy()
		say(reason)
		if reason != "" {
			p.sleep(lookAround)
		}
	}
	p.woke = time.Now()
	return took
}

func (p *pacer) sleep(d time.Duration) {
	select {
	case <-p.stop:
	case <-time.After(d):
	}
}

// stopped reports whether stop is closed.
func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
