// SPDX-License-Identifier: Apache-2.0

package daemon

import "time"

// A phase is how far a process has come.
type phase int

const (
	preparing phase = iota // it checks that it can serve
	prepared               // it waits for the order to serve
	ordered                // it has that order
	serving                // it answers requests
	ready                  // it has all its protections as well
	stopping               // it has the order to stop
	ended                  // it has ended, or could not be started
	phases    = iota
)

// A trigger takes a process from one phase to the next.
type trigger int

const (
	saysPrepared trigger = iota
	isOrdered
	saysServing
	saysReady
	isStopped
	ends
	triggers = iota
)

// transitions are all ways between phases: from a phase, by a trigger, to the next.
var transitions = [phases]map[trigger]phase{
	preparing: {saysPrepared: prepared, ends: ended},
	prepared:  {isOrdered: ordered, ends: ended},
	ordered:   {saysServing: serving, ends: ended},
	serving:   {saysReady: ready, ends: ended},
	ready:     {isStopped: stopping, ends: ended},
	stopping:  {ends: ended},
}

// stopTime is how long a worker may take to finish its requests: a write waits a second for memory
// at most.
const stopTime = 5 * time.Second

// phaseTimes bound the time in a phase; 0 is no bound.
var phaseTimes = [phases]time.Duration{
	preparing: workerPatience, ordered: workerPatience, serving: workerPatience, stopping: stopTime,
}

// move takes p to the next phase, and reports whether there is a way.
func (s *supervision) move(now time.Time, p *process, by trigger) bool {
	next, ok := transitions[p.phase][by]
	if !ok {
		return false
	}
	if s.moved != nil {
		s.moved(p.phase, by)
	}
	p.phase, p.limit = next, time.Time{}
	if t := phaseTimes[next]; t > 0 {
		p.limit = now.Add(t)
	}
	return true
}

// newProcess makes a process that is about to be started.
func newProcess(now time.Time) *process { return &process{limit: now.Add(phaseTimes[preparing])} }
