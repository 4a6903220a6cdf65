// SPDX-License-Identifier: Apache-2.0

package daemon

import "time"

const (
	// attemptWindow is how far back attempts count, and manyAttempts how many of them are reason to
	// say so.
	attemptWindow = time.Minute
	manyAttempts  = 5
	// freeAttempts in a row cost no pause: one death, and one more in what the first one left, are
	// repaired at once. The next one waits for leastPause, each further one twice as long, mostPause
	// at most. A request that kills all who carry it out is given up after ten of them, within some
	// seconds.
	freeAttempts = 2
	leastPause   = 50 * time.Millisecond
	mostPause    = 3 * time.Second
)

// attempts are the workers of the last minute that died or could not be started.
type attempts struct{ times []time.Time }

// note records one.
func (a *attempts) note(now time.Time) {
	a.recent(now)
	a.times = append(a.times, now)
}

// recent is how many there were, and forgets older ones.
func (a *attempts) recent(now time.Time) int {
	for len(a.times) > 0 && now.Sub(a.times[0]) > attemptWindow {
		a.times = a.times[1:]
	}
	return len(a.times)
}

// next is when another worker may be started.
func (a *attempts) next(now time.Time) time.Time {
	n := a.recent(now)
	if n <= freeAttempts || debugging(debugNoPause) {
		return now
	}
	pause := mostPause
	if doublings := n - freeAttempts - 1; doublings < 6 {
		pause = min(leastPause<<doublings, mostPause)
	}
	return a.times[n-1].Add(pause)
}
