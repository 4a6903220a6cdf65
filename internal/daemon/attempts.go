// SPDX-License-Identifier: Apache-2.0

package daemon

import "time"

const (
	// The log warns of manyAttempts within attemptWindow.
	attemptWindow = time.Minute
	manyAttempts  = 5
	// After freeAttempts in a row the next one waits for minPause, and each further one twice as
	// long up to maxPause. The free ones repair a death, and one more over the remains of the
	// first, at once. A request that kills each worker is given up after ten of them, within some
	// seconds.
	freeAttempts = 2
	minPause     = 50 * time.Millisecond
	maxPause     = 3 * time.Second
)

// attempts are the workers of the last minute that died or could not be started.
type attempts struct{ times []time.Time }

// note records an attempt.
func (a *attempts) note(now time.Time) {
	a.recent(now)
	a.times = append(a.times, now)
}

// recent returns the number of attempts in the window, and forgets older ones.
func (a *attempts) recent(now time.Time) int {
	for len(a.times) > 0 && now.Sub(a.times[0]) > attemptWindow {
		a.times = a.times[1:]
	}
	return len(a.times)
}

// next returns when another worker may be started.
func (a *attempts) next(now time.Time) time.Time {
	n := a.recent(now)
	if n <= freeAttempts || debugging(debugNoPause) {
		return now
	}
	pause := maxPause
	if doublings := n - freeAttempts - 1; doublings < 6 {
		pause = min(minPause<<doublings, maxPause)
	}
	return a.times[n-1].Add(pause)
}
