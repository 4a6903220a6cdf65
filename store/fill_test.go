// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"
	"testing"
)

// Each step of the memory limit is told once, and again only after the use was lower.
func TestFillIsTold(t *testing.T) {
	const limit = 128 << 20 // a step is many segments, so that no fill passes one by chance
	var mu sync.Mutex
	var told []int // guarded by mu
	level := 0     // guarded by mu
	s := newStore(t, Config{Disksize: 192 << 20, MemLimit: limit, Algorithm: algorithm(t, "raw"), OnFill: func(percent int, risen bool) {
		mu.Lock()
		defer mu.Unlock()
		if risen != (percent > level) && risen != (percent == level) { // the same once more after another limit
			t.Errorf("told of %d after %d, risen: %v", percent, level, risen)
		}
		if level = percent; risen {
			told = append(told, percent)
		}
	}})
	want := func(what string, steps ...int) {
		t.Helper()
		waitUntil(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(told) >= len(steps) })
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, steps) {
			t.Errorf("%s: told of %v, want %v", what, told, steps)
		}
	}
	fill := func(percent uint64) {
		for page := uint32(0); uint64(s.used()) < limit/100*percent; page++ {
			if err := tryWrite(s, uint64(page), page); err != nil {
				t.Fatal(err)
			}
		}
	}
	empty := func() {
		w := s.Acquire()
		w.Discard(0, s.Pages())
		w.Release()
		waitUntil(t, func() bool { return s.used() < limit/2 })
	}
	fill(75)
	want("three quarters")
	fill(81)
	want("81 per cent", 80)
	fill(91)
	want("91 per cent", 80, 90)
	fillUp(t, s)
	want("full", 80, 90, 100)
	for page := range uint64(100) {
		_ = tryWrite(s, page, 7) // it may be full
	}
	want("still full", 80, 90, 100)
	empty()
	fill(81)
	want("emptied and filled again", 80, 90, 100, 80)
}

// A full store has memory for moments: it is full until the use has fallen, or has had memory for a
// while. It is told of once.
func TestFullIsToldOnce(t *testing.T) {
	var told []int
	s := newStore(t, Config{Disksize: 1 << 20, OnFill: func(percent int, _ bool) { told = append(told, percent) }})
	defer s.unmaintained()()
	used := uint64(s.used())
	s.limit.Store(used*10/9 + 1) // 89 per cent are in use
	s.limitChanged.Store(false)
	s.noteFill()
	for range 100 {
		for _, full := range []bool{true, false} {
			s.full.Store(full)
			if again := s.noteFill(); full != (again == 0) || again > settleEvery {
				t.Fatalf("full: %v: to look again after %v", full, again)
			}
		}
	}
	if !slices.Equal(told, []int{80, 100}) {
		t.Fatalf("told of %v", told)
	}
	s.fullLast = s.fullLast.Add(-fullFor)
	s.noteFill()
	s.full.Store(true)
	s.noteFill()
	s.full.Store(false)
	s.limit.Store(used * 5 / 4) // 80 per cent
	s.noteFill()
	s.limit.Store(0)
	s.full.Store(true)
	s.noteFill()
	if want := []int{80, 100, 90, 100, 80, 0}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	s.full.Store(false)
}

// A share of 100 per cent says that no more memory can be had, whatever is left below the limit.
func TestPercent(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	defer s.unmaintained()()
	used := uint64(s.used())
	for _, c := range []struct {
		limit uint64
		full  bool
		want  int
	}{{0, false, 0}, {0, true, 0}, {used, false, 99}, {used / 2, false, 99}, {2 * used, false, 50}, {4*used + 3, false, 24}, {4 * used, true, 100}} {
		s.limit.Store(c.limit)
		s.full.Store(c.full)
		if got := s.percent(); got != c.want {
			t.Errorf("%d bytes of %d, full: %v: %d per cent, want %d", used, c.limit, c.full, got, c.want)
		}
	}
	s.limit.Store(0)
	s.full.Store(false)
}
