// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"
	"time"
)

// TestSpentWithClockSetBack: periods that a clock which was set back comes to again do not forget
// what was counted in them, or the budget of a day could be spent twice.
func TestSpentWithClockSetBack(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).Truncate(spentPeriod)
	for _, back := range []time.Duration{time.Second, 9 * time.Hour, 1000 * time.Hour} {
		var c Settings
		c.spend(at.Add(-spentPeriod), 30)
		c.spend(at, 100)
		set := at.Add(-back)
		c.spend(set, 0)
		for later := time.Duration(0); later <= 24*time.Hour-spentPeriod; later += spentPeriod {
			if c.spend(set.Add(later), 0); c.spent(set.Add(later)) != 130 {
				t.Errorf("clock set back by %s, %s later: %d pages are counted, want 130", back, later, c.spent(set.Add(later)))
			}
		}
		if got := c.spent(set.Add(24*time.Hour + spentPeriod)); got != 0 {
			t.Errorf("clock set back by %s: %d pages are counted after a day, want 0", back, got)
		}
	}
}
