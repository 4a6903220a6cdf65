// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// after is the effort of a thread that has worked and waited so long, n times.
func after(p *pace, n int, work, wait time.Duration) int {
	now := p.ended
	if now.IsZero() {
		now = time.Unix(1, 0)
	}
	for range n {
		p.begin(now)
		now = now.Add(work)
		p.end(now)
		now = now.Add(wait)
	}
	p.begin(now)
	defer p.end(now)
	return p.effort()
}

// TestPaceFollowsTheLoad: time for everything while most of it is spent waiting,
// none where each request finds the next one there, and in between the less the more.
func TestPaceFollowsTheLoad(t *testing.T) {
	const us = time.Microsecond
	last := codec.MaxEffort
	for _, wait := range []time.Duration{1000 * us, 20 * us, 4 * us, 2 * us, us, us / 2, us / 4, 0} {
		var p pace
		got := after(&p, 100, 8*us, wait)
		if got > last || got < 0 {
			t.Errorf("waiting %v for each 8 us at work: effort %d, after %d", wait, got, last)
		}
		if last = got; wait >= 20*us && got != codec.MaxEffort || wait == 0 && got != 0 {
			t.Errorf("waiting %v for each 8 us at work: effort %d", wait, got)
		}
	}
	var p pace
	if got := p.effort(); got != codec.MaxEffort {
		t.Errorf("at the beginning: %d", got)
	}
}

// A storm is felt after some requests, and forgotten as soon; a batch of 32 is none.
func TestPaceChanges(t *testing.T) {
	var p pace
	const us = time.Microsecond
	if got := after(&p, 100, 8*us, 40*us); got != codec.MaxEffort {
		t.Errorf("quiet: effort %d", got)
	}
	if got := after(&p, 32, 8*us, 0); got < codec.MaxEffort/4 {
		t.Errorf("a batch: effort %d", got)
	}
	if got := after(&p, 160, 8*us, 0); got != 0 {
		t.Errorf("a storm: effort %d", got)
	}
	if got := after(&p, 160, 8*us, 40*us); got != codec.MaxEffort {
		t.Errorf("quiet again: effort %d", got)
	}
}
