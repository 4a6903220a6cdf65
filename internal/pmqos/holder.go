// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// A Holder holds the request while its policy says so. Its methods are safe for concurrent use.
type Holder struct {
	policy Policy    // immutable
	began  time.Time // immutable
	file   *request  // nil where there is none; immutable
	stat   *os.File  // /proc/stat; nil where file is; immutable

	requests atomic.Uint64 // lone requests so far
	timed    atomic.Int64  // when a batch was complete last, in ns since began
	within   atomic.Int64  // time in ns within which a batch has to come; 0 for never
	asked    chan struct{} // a batch came in time; one place
	stop     chan struct{} // closed by Close

	mu     sync.Mutex
	status status.Latency // guarded by mu, but for the fields that Status computes
	since  time.Time      // when the request was taken, or zero; guarded by mu
}

// New returns a Holder that holds nothing yet. Where the machine has no such request, or denies
// it, the Holder's status says so.
func New(p Policy) *Holder {
	h := &Holder{policy: p, began: time.Now(), asked: make(chan struct{}, 1), stop: make(chan struct{})}
	h.status = status.Latency{Policy: string(p), State: status.Ready}
	var err error
	switch {
	case p == Off:
		err = errors.New("switched off")
	case countProcessors(host.Local) < 2:
		err = errors.New("one processor, which no thread wakes from another")
	default:
		h.file, err = openRequest(host.Local)
	}
	if err == nil {
		h.stat, err = os.Open("/proc/stat")
	}
	if err != nil {
		h.status.State, h.status.Reason = status.Off, err.Error()
	}
	return h
}

// Start measures what the request saves, in the background, and follows the policy from then on.
func (h *Holder) Start() {
	if h.stat != nil {
		go h.run()
	}
}

// Close lets go and ends what Start began, soon: a measurement that is under way takes its time,
// and finds the files closed. The Holder may be asked for its status afterwards.
func (h *Holder) Close() (err error) {
	close(h.stop)
	if h.file != nil {
		err = h.file.close()
	}
	if h.stat != nil {
		err = errors.Join(err, h.stat.Close())
	}
	return err
}

// FaultSeen notes a request that came at that time, after a pause, while no other was under way. It
// is on the page path: it allocates nothing and calls the kernel at most once for each time that
// the request is taken.
func (h *Holder) FaultSeen(now time.Time) {
	if h.requests.Add(1)%batch != 0 && h.policy != Low {
		return
	}
	since := int64(now.Sub(h.began))
	before, within := h.timed.Swap(since), h.within.Load()
	if within > 0 && since-before <= within {
		select {
		case h.asked <- struct{}{}:
		default: // it is asked for, or held, already
		}
	}
}

// Status returns what the Holder does now.
func (h *Holder) Status() status.Latency {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.status
	s.LoneRequests = h.requests.Load()
	if !h.since.IsZero() {
		s.HeldSeconds += time.Since(h.since).Seconds()
	}
	return s
}

// A measurement that found wake-ups cheap may have met busy processors, so it is repeated sooner.
const (
	measureAgain      = 10 * time.Minute
	measureAgainCheap = 10 * time.Second
)

// run is the goroutine that takes the request and lets go.
func (h *Holder) run() {
	left := newBudget(time.Now())
	for {
		again := h.measure()
		for repeat := time.After(again); repeat != nil; {
			select {
			case <-h.stop:
				return
			case <-repeat:
				repeat = nil
			case <-h.asked:
				h.hold(&left)
			}
		}
	}
}

// measure sets what justifies taking the request, and returns when to measure again.
func (h *Holder) measure() time.Duration {
	if h.policy == Low {
		h.within.Store(int64(forever))
	}
	halted, held, err := h.file.measure()
	saved := halted - held
	if err != nil {
		saved = 0
	}
	if h.policy == Auto {
		h.within.Store(int64(h.policy.within(saved, countProcessors(host.Local))))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.status.Reason = err.Error()
		return measureAgain
	}
	h.status.WakeUpUs, h.status.WakeUpHeldUs = microseconds(halted), microseconds(held)
	h.status.Reason = ""
	if h.policy == Auto && saved < CheapWakeUp {
		h.status.Reason = "processors wake up as fast without it"
		return measureAgainCheap
	}
	return measureAgain
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// hold takes the request, and lets go once the requests no longer justify it.
func (h *Holder) hold(left *budget) {
	left.pass(time.Now(), false)
	if h.policy == Auto && left.left < allowanceLeast {
		h.say("held for half of the time already")
		return
	}
	if err := h.file.take(); err != nil {
		h.say(err.Error())
		return
	}
	h.taken(true)
	reason := h.untilIdle(left)
	if err := h.file.letGo(); err != nil {
		reason = err.Error()
	}
	h.taken(false)
	h.say(reason)
	if reason != "" { // requests go on: no new attempt at once
		select {
		case <-h.stop:
		case <-time.After(busyTicks * tick):
		}
	}
	select {
	case <-h.asked: // while it was held
	default:
	}
}

// untilIdle returns once the request is no longer justified, and why if requests go on.
func (h *Holder) untilIdle(left *budget) (reason string) {
	pause := tick
	if h.policy == Low {
		pause = lowPause
	}
	seen, before := h.requests.Load(), readLoad(h.stat)
	clock := time.NewTicker(pause) // one for all ticks: a worker makes as little garbage as it can
	defer clock.Stop()
	for ticks := 1; ; ticks++ {
		select {
		case <-h.stop:
			return ""
		case <-clock.C:
		}
		left.pass(time.Now(), true)
		now := h.requests.Load()
		came := now - seen
		seen = now
		if h.policy == Low {
			if came == 0 {
				return ""
			}
			continue
		}
		if !lasts(came, pause, time.Duration(h.within.Load())) {
			return ""
		}
		if left.left <= 0 {
			return "held for half of the time already"
		}
		if ticks%busyTicks == 0 {
			load := readLoad(h.stat)
			if idle, ok := load.idleSince(before); ok && idle < busyShare {
				return "the processors are busy without it"
			}
			before = load
		}
	}
}

// say sets the reason.
func (h *Holder) say(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status.Reason = reason
}

// taken notes that the request was taken or let go.
func (h *Holder) taken(held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held {
		h.status.State, h.status.Reason, h.since = status.Held, "", time.Now()
		h.status.Holds++
		return
	}
	h.status.HeldSeconds += time.Since(h.since).Seconds()
	h.status.State, h.since = status.Ready, time.Time{}
}
