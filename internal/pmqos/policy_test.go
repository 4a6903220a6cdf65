// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// A wake-up that gains more, and a machine with fewer processors to keep from halting, need fewer
// requests; a gain that is too small, a single processor and Off need too many.
func TestWithin(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		policy     Policy
		saved      time.Duration
		processors int
		want       time.Duration
	}{
		{Auto, 15 * us, 2, 7200 * us}, // 2,222 requests a second: their wake-ups would take a tenth of it
		{Auto, 100 * us, 2, 48000 * us},
		{Auto, 100 * us, 16, 6000 * us},
		{Auto, CheapWakeUp - 1, 2, 0},
		{Auto, -us, 2, 0},
		{Auto, 100 * us, 1, 0},
		{Low, 0, 2, forever},
		{Off, 100 * us, 2, 0},
	} {
		if got := c.policy.within(c.saved, c.processors); got != c.want {
			t.Errorf("%s, %v saved, %d processors: within %v, want %v", c.policy, c.saved, c.processors, got, c.want)
		}
	}
}

// A request that was taken is held until the rate falls below half of what justified it.
func TestLasts(t *testing.T) {
	const within = 16 * time.Millisecond // a thousand a second
	for came, want := range map[uint64]bool{0: false, 24: false, 25: true, 50: true, 1000: true} {
		if got := lasts(came, 50*time.Millisecond, within); got != want {
			t.Errorf("%d requests in 50 ms: %v", came, got)
		}
	}
}

// Held without end, the request has its allowance of five minutes, and half of the time from then
// on.
func TestBudget(t *testing.T) {
	now := time.Unix(1, 0)
	b := newBudget(now)
	for _, step := range []struct {
		passes time.Duration
		held   bool
		left   time.Duration
	}{
		{time.Hour, false, allowance},
		{allowance / 2, true, allowance / 2},
		{allowance / 2, true, 0},
		{time.Minute, false, time.Minute},
		{time.Minute, true, 0},
		{2 * allowance, false, allowance},
	} {
		now = now.Add(step.passes)
		b.pass(now, step.held)
		if b.left != step.left {
			t.Fatalf("%v held %v: %v left, want %v", step.passes, step.held, b.left, step.left)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for name, want := range map[string]Policy{"auto": Auto, "low": Low, "off": Off} {
		if got, err := ParsePolicy(name); got != want || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	if _, err := ParsePolicy("lowest"); err == nil || err.Error() != `latency "lowest": use auto, low or off` {
		t.Errorf("lowest: %v", err)
	}
}

// Idle time is what the kernel counts as idle and as waiting for I/O; guests' time is not counted
// twice.
func TestLoad(t *testing.T) {
	before := parseLoad("cpu  100 0 50 1000 20 1 2 3 40 0")
	after := parseLoad("cpu  130 0 60 1050 30 1 2 3 70 0")
	if share, ok := after.idleSince(before); share != 60 || !ok {
		t.Errorf("%d %% idle, %v", share, ok)
	}
	for _, line := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu a 2 3 4 5 6 7 8"} {
		if _, ok := after.idleSince(parseLoad(line)); ok {
			t.Errorf("%q counts as a reading", line)
		}
	}
	stat, err := os.Open("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	defer stat.Close()
	for range 2 { // of one open file
		if readLoad(stat).all == 0 {
			t.Error("the load of this machine cannot be read")
		}
	}
	if n := countProcessors(host.Local); n < runtime.NumCPU() {
		t.Errorf("%d processors, of which this process has %d", n, runtime.NumCPU())
	}
}
