// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// A moving is a Mover that notes what it is asked for.
type moving struct {
	asked []moved
	have  uint64 // pages that it can move of any age
	err   error  // of each Spill
	done  map[time.Time]uint64
	wait  chan struct{} // Spill ends once it is closed; nil for at once
}

type moved struct {
	age  time.Duration
	most int
}

func (m *moving) Spill(age time.Duration, most int) (uint64, error) {
	m.asked = append(m.asked, moved{age, most})
	if m.wait != nil {
		<-m.wait
	}
	pages := min(m.have, uint64(most))
	m.have -= pages
	m.done[time.Now()] += pages
	return pages, m.err
}

// sums are the pages asked for, those of the same age in a row together.
func (m *moving) sums() (all []moved) {
	for _, a := range m.asked {
		if last := len(all) - 1; last >= 0 && all[last].age == a.age {
			all[last].most += a.most
		} else {
			all = append(all, a)
		}
	}
	return all
}

func (m *moving) Spent(now time.Time) (pages uint64) {
	for at, n := range m.done {
		if now.Sub(at) < 24*time.Hour {
			pages += n
		}
	}
	return pages
}

// newMoving returns a Mover with many pages of each age.
func newMoving() *moving {
	return &moving{have: 1 << 30, done: map[time.Time]uint64{}}
}

const pagesOfMiB = 1 << 20 / store.PageSize

func hour() time.Duration { return time.Hour }

// The nearer the memory limit, the more pages go to the backing device and the younger they may be;
// within a budget for 24 hours.
func TestSpillerKeepsToItsBudget(t *testing.T) {
	m := newMoving()
	p := NewSpiller(newStore(t), 500<<20, hour, m)
	p.started = true
	now := time.Now()
	if pause := p.round(0.79, now); pause != fillEvery || len(m.asked) > 0 || p.Status().State != status.Waiting {
		t.Errorf("far from the limit: %v, %+v", m.asked, p.Status())
	}
	p.round(0.8, now)
	p.round(0.95, now.Add(time.Minute))
	if want := []moved{{time.Hour, 240 * pagesOfMiB}, {leastAge, 260 * pagesOfMiB}}; !slices.Equal(m.sums(), want) {
		t.Errorf("asked for %v, want %v", m.sums(), want)
	}
	asked := len(m.asked)
	pause := p.round(1, now.Add(time.Hour))
	if got := p.Status(); len(m.asked) != asked || pause != spillAgain || got.SpentBytes != 500<<20 || !strings.Contains(got.Reason, "24 hours") || got.Pages != 500*pagesOfMiB {
		t.Errorf("beyond the budget: %v, %+v", m.asked, got)
	}
	if p.Relieve() {
		t.Error("it promises to move more than the budget has")
	}
	m.have = 0
	pause = p.round(1, now.Add(25*time.Hour))
	if got := p.Status(); len(m.asked) != asked+1 || m.asked[asked].most != 8*pagesOfMiB || pause != spillAgain || !strings.Contains(got.Reason, "cold enough") {
		t.Errorf("a day later: %v, %+v", m.asked, got)
	}
}

// While writes wait, pages of any age are moved until none is left.
func TestSpillerRelieves(t *testing.T) {
	m := newMoving()
	p := NewSpiller(newStore(t), SpillDaily, hour, m)
	if p.Relieve() {
		t.Error("it promises to make room, and does not move anything yet")
	}
	p.started = true
	m.have = stepBytes / store.PageSize * 3 / 2
	p.relieve(time.Now())
	p.relieve(time.Now())
	most := stepBytes / store.PageSize
	want := []moved{{0, most}, {0, most}}
	if !slices.Equal(m.asked, want) || p.Status().Pages != uint64(most)*3/2 {
		t.Errorf("asked for %v, want %v; %+v", m.asked, want, p.Status())
	}
	if !p.Relieve() {
		t.Error("it gives up where there were pages")
	}
	p.relieve(time.Now())
	if p.Relieve() {
		t.Error("it promises more although there was none")
	}
}

// A backing device that is stuck, or fails, is no relief.
func TestSpillerIsStuck(t *testing.T) {
	m := newMoving()
	m.wait = make(chan struct{})
	p := NewSpiller(newStore(t), SpillDaily, hour, m)
	p.Start()
	if !p.Relieve() {
		t.Fatal("it makes no room")
	}
	for began := time.Now(); p.Relieve(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*stepTime {
			t.Fatal("it goes on promising")
		}
	}
	close(m.wait)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	m.err = errors.New("the disk is gone")
	p = NewSpiller(newStore(t), SpillDaily, hour, m)
	p.started = true
	if p.relieve(time.Now()); p.Relieve() || p.Status().Reason != "the disk is gone" {
		t.Errorf("after a failure: %+v", p.Status())
	}
}

// A step that takes long is relief as long as pages are written, also those of a writeback that an
// operator asked for.
func TestSpillerMovesOn(t *testing.T) {
	p := NewSpiller(newStore(t), SpillDaily, hour, newMoving())
	wrote := uint64(5)
	p.wrote = func() uint64 { return wrote }
	now := time.Now()
	if p.stuck(now) {
		t.Error("stuck between two rounds")
	}
	p.began, p.had = now, 5
	for _, c := range []struct {
		after time.Duration
		wrote uint64
		want  bool
	}{{stepTime, 5, false}, {stepTime + 1, 5, true}, {stepTime + 2, 6, false}, {2*stepTime + 2, 6, false}, {2*stepTime + 3, 6, true}} {
		wrote = c.wrote
		if got := p.stuck(now.Add(c.after)); got != c.want {
			t.Errorf("after %v and %d pages: stuck %v", c.after, c.wrote, got)
		}
	}
}

// A backing device that fails is left alone for a while.
func TestSpillerWithoutDevice(t *testing.T) {
	m := newMoving()
	m.have, m.err = 3, errors.New("the disk is gone")
	p := NewSpiller(newStore(t), SpillDaily, func() time.Duration { return time.Second }, m)
	pause := p.round(0.85, time.Now())
	if got := p.Status(); pause != spillFailed || got.Reason != "the disk is gone" || got.Pages != 3 || m.asked[0].age != spillAge {
		t.Errorf("%s, %+v, %v", pause, got, m.asked)
	}
	for reason, p := range map[string]*Spiller{
		"no backing device": NewSpiller(nil, SpillDaily, nil, nil),
		"switched off":      NewSpiller(nil, 0, nil, m),
	} {
		p.Start()
		if got := p.Status(); got.State != status.Off || got.Reason != reason || p.Relieve() {
			t.Errorf("%+v", got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Start and Close of one that has a store.
func TestSpillerRuns(t *testing.T) {
	m := newMoving()
	p := NewSpiller(newStore(t), SpillDaily, hour, m)
	p.Start()
	time.Sleep(50 * time.Millisecond)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if len(m.asked) > 0 || p.Relieve() {
		t.Error("a store without a limit is spilled, or one that has ended")
	}
}
