// SPDX-License-Identifier: Apache-2.0

package background

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store"
)

// A moved is what a Spiller has asked for.
type moved struct {
	age  time.Duration
	most int
}

// The nearer the memory limit, the more pages go to the backing device and the younger they may be;
// within a budget for 24 hours.
func TestSpillerKeepsToItsBudget(t *testing.T) {
	var asked []moved
	have := uint64(1 << 40)
	p := NewSpiller(nil, 500<<20, func() time.Duration { return time.Hour }, func(age time.Duration, most int) (uint64, error) {
		asked = append(asked, moved{age, most})
		return min(have, uint64(most)), nil
	})
	now := time.Now()
	const mib = 1 << 20 / store.PageSize
	if pause := p.round(0.79, now); pause != fillEvery || len(asked) > 0 || p.Status().State != StateWaiting {
		t.Errorf("far from the limit: %v, %+v", asked, p.Status())
	}
	p.round(0.8, now)
	p.round(0.95, now.Add(time.Minute))
	if want := []moved{{time.Hour, 240 * mib}, {leastAge, 260 * mib}}; len(asked) != 2 || asked[0] != want[0] || asked[1] != want[1] {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	pause := p.round(1, now.Add(time.Hour))
	if got := p.Status(); len(asked) != 2 || pause != spillAgain || got.SpentBytes != 500<<20 || !strings.Contains(got.Reason, "24 hours") || got.Pages != 500*mib {
		t.Errorf("beyond the budget: %v, %+v", asked, got)
	}
	have = 0
	pause = p.round(1, now.Add(day))
	if got := p.Status(); len(asked) != 3 || asked[2].most != 240*mib || pause != spillAgain || !strings.Contains(got.Reason, "cold enough") {
		t.Errorf("a day later: %v, %+v", asked, got)
	}
}

// A backing device that fails is left alone for a while.
func TestSpillerWithoutDevice(t *testing.T) {
	p := NewSpiller(nil, SpillDaily, func() time.Duration { return time.Second }, func(age time.Duration, _ int) (uint64, error) {
		if age != spillAge {
			t.Errorf("pages of %s are spilled", age)
		}
		return 3, errors.New("the disk is gone")
	})
	pause := p.round(0.85, time.Now())
	if got := p.Status(); pause != spillFailed || got.Reason != "the disk is gone" || got.Pages != 3 {
		t.Errorf("%s, %+v", pause, got)
	}
	for reason, p := range map[string]*Spiller{
		"no backing device": NewSpiller(nil, SpillDaily, nil, nil),
		"switched off":      NewSpiller(nil, 0, nil, func(time.Duration, int) (uint64, error) { return 0, nil }),
	} {
		p.Start()
		if got := p.Status(); got.State != StateOff || got.Reason != reason {
			t.Errorf("%+v", got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Start and Close of one that has a store.
func TestSpillerRuns(t *testing.T) {
	p := NewSpiller(newStore(t), SpillDaily, func() time.Duration { return time.Hour }, func(time.Duration, int) (uint64, error) {
		t.Error("a store without a limit is spilled")
		return 0, nil
	})
	p.Start()
	time.Sleep(50 * time.Millisecond)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
