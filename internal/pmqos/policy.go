// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"fmt"
	"math"
	"time"
)

// A Policy decides when a [Holder] holds its request.
type Policy string

const (
	// Auto holds the request while that saves page faults at least a twentieth of the time of each
	// processor which it keeps from halting: for two processors, while faults would spend a tenth
	// of the time waiting for wake-ups. It lets go when the rate falls below half of that, while
	// the processors are busy without it, and when the request has been held for half of the time.
	// It never holds it where waking a processor costs less than [CheapWakeUp] more than it has to.
	Auto Policy = "auto"
	// Low holds the request from the first lone request on, until a second passes without one,
	// whatever it saves: for machines whose host does not charge for idle time.
	Low Policy = "low"
	// Off never holds it.
	Off Policy = "off"
)

// ParsePolicy returns the policy of that name.
func ParsePolicy(name string) (Policy, error) {
	switch p := Policy(name); p {
	case Auto, Low, Off:
		return p, nil
	}
	return "", fmt.Errorf("latency %q: use auto, low or off", name)
}

const (
	// CheapWakeUp is the least that a wake-up has to gain. Bare metal, and machines whose hosts
	// poll for them, gain less.
	CheapWakeUp = 3 * time.Microsecond

	// batch is how many lone requests in a row are timed to see their rate.
	batch = 16
	// wakeUps is how many threads a fault wakes one after the other: the loop driver's, ours, and
	// the faulting one. A fourth, the softirq's, is on our processor.
	wakeUps = 3
	// share is the reciprocal of the share of a processor's time that has to be saved.
	share = 20
	// lowPause is the time without a request after which Low lets go.
	lowPause = time.Second
	// forever is the time within which Low wants the next request.
	forever = time.Duration(math.MaxInt64)

	// tick is how often a held request is looked at.
	tick = 50 * time.Millisecond
	// busyTicks is how many ticks the load is measured for: the kernel counts it in steps of 10 ms.
	busyTicks = 4
	// busyShare is the share of idle time, in per cent, below which processors are busy anyway.
	busyShare = 10
	// allowance is how long the request may be held at a stretch. Time without it adds to what is
	// left, so that it is held for half of the time at most.
	allowance = 5 * time.Minute
	// allowanceLeast is what has to be there again before the request is taken.
	allowanceLeast = 10 * time.Second
)

// within returns the time within which batch requests have to come for the request to be taken, on
// a machine with that number of processors, where it saves that much a wake-up. 0 stands for never.
func (p Policy) within(saved time.Duration, processors int) time.Duration {
	switch {
	case p == Low:
		return forever
	case p == Off, saved < CheapWakeUp, processors < 2:
		return 0
	}
	return batch * wakeUps * saved * share / time.Duration(processors)
}

// lasts reports whether the requests that came in a pause justify holding the request further, if
// batch within the given time justified taking it.
func lasts(requests uint64, pause, within time.Duration) bool {
	return 2*time.Duration(requests)*within >= batch*pause
}

// A budget is the time for which the request may still be held. It belongs to one goroutine.
type budget struct {
	left time.Duration
	at   time.Time // when left was right
}

func newBudget(now time.Time) budget { return budget{left: allowance, at: now} }

// pass accounts for the time since the last call, in which the request was held or not.
func (b *budget) pass(now time.Time, held bool) {
	passed := now.Sub(b.at)
	b.at = now
	if held {
		b.left -= passed
	} else {
		b.left = min(b.left+passed, allowance)
	}
}
