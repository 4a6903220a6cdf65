// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"math"
	"time"
)

// The pages that Spill moves are counted by periods of some hours, since the text of Chosen has
// little room. The present period is not over, so there is one more than a day has.
const (
	spentPeriod  = 4 * time.Hour
	spentPeriods = int(24*time.Hour/spentPeriod) + 1
)

// spend counts pages that Spill is about to move, or that it has not moved for a negative number.
func (c *Settings) spend(now time.Time, pages int64) {
	c.turnTo(now)
	n := &c.Spent[c.SpentPeriod%uint64(spentPeriods)]
	*n = uint32(min(max(int64(*n)+pages, 0), math.MaxUint32))
}

// spent is the number of pages that were counted in the last 24 hours, and in up to four before.
func (c Settings) spent(now time.Time) (pages uint64) {
	c.turnTo(now)
	return c.allSpent()
}

// allSpent is the number of pages of all periods.
func (c *Settings) allSpent() (pages uint64) {
	for _, n := range c.Spent {
		pages += uint64(n)
	}
	return pages
}

// turnTo begins the period of now. A clock that was set back forgets nothing: all that was counted
// counts as of now, since periods that come again begin with none.
func (c *Settings) turnTo(now time.Time) {
	period := uint64(max(now.Unix(), 0)) / uint64(spentPeriod/time.Second)
	if period < c.SpentPeriod {
		all := c.allSpent()
		c.Spent = [spentPeriods]uint32{}
		c.Spent[period%uint64(spentPeriods)] = uint32(min(all, math.MaxUint32))
	}
	if period >= c.SpentPeriod+uint64(spentPeriods) {
		c.Spent = [spentPeriods]uint32{}
	}
	for p := c.SpentPeriod + 1; p <= period && p < c.SpentPeriod+uint64(spentPeriods); p++ {
		c.Spent[p%uint64(spentPeriods)] = 0
	}
	c.SpentPeriod = period
}
