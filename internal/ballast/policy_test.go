// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"testing"
	"time"
)

const gib = 1 << 30

// machineWith is a machine with plenty of memory and one device of swap of size bytes: programs use
// inUse, a ballast has held.
func machineWith(size, inUse, held uint64) sample {
	return sample{swapTotal: size, swapFree: size - inUse - held, own: size, memTotal: 8 * gib, memAvailable: 6 * gib}
}

func TestParsePolicy(t *testing.T) {
	for _, name := range []string{"auto", "free", "keep"} {
		if p, err := ParsePolicy(name); err != nil || string(p) != name {
			t.Errorf("%s: %q, %v", name, p, err)
		}
	}
	for _, name := range []string{"", "Free", "free "} {
		if _, err := ParsePolicy(name); err == nil {
			t.Errorf("%q is a policy", name)
		}
	}
}

// The ballast makes more than half of swap used, and no more than a little more, as long as
// programs do not.
func TestFit(t *testing.T) {
	const size, half, margin = 4 * gib, 2 * gib, 4 * gib / 64
	for name, c := range map[string]struct {
		s          sample
		held, want uint64
	}{
		"nothing in swap":            {machineWith(size, 0, 0), 0, half + margin},
		"some in swap":               {machineWith(size, gib, 0), 0, gib + margin},
		"programs use half":          {machineWith(size, half+margin, 0), 0, 0},
		"programs use all":           {machineWith(size, size, 0), 0, 0},
		"as it was made":             {machineWith(size, gib, gib+margin), gib + margin, gib + margin},
		"programs freed a little":    {machineWith(size, gib-margin/2, gib+margin), gib + margin, gib + margin},
		"programs freed much":        {machineWith(size, gib/2, gib+margin), gib + margin, half + margin - gib/2},
		"programs want its slots":    {machineWith(size, gib+3*margin, gib+margin), gib + margin, gib - 2*margin},
		"programs have them all":     {machineWith(size, 3*gib, gib), gib, 0},
		"a small device":             {machineWith(256<<20, 0, 0), 0, 0},
		"its areas are off":          {sample{swapTotal: size, swapFree: size}, 0, 0},
		"swapoff is under way":       {sample{swapTotal: gib, swapFree: 0}, gib, 0},
		"a small other area":         {sample{swapTotal: 5 * gib, swapFree: 5 * gib, own: 4 * gib}, 0, 5*gib/2 + 5*gib/64},
		"an other area is too large": {sample{swapTotal: 20 * gib, swapFree: 20 * gib, own: 4 * gib}, 0, 0},
	} {
		got := fit(c.s, c.held)
		if got != c.want {
			t.Errorf("%s: %d MiB, want %d", name, got>>20, c.want>>20)
		}
		if got > 0 && 2*(c.s.swapFree+c.held-got) >= c.s.swapTotal {
			t.Errorf("%s: with %d MiB the kernel keeps slots", name, got>>20)
		}
	}
}

// F090: auto holds a ballast while tasks wait for memory and little is available, and a minute
// longer; free always.
func TestF090TargetFollowsMemory(t *testing.T) {
	plentiful := machineWith(4*gib, 0, 0)
	waits, little := plentiful, plentiful
	waits.pressure = shortPressure
	little.memAvailable = gib
	short, unknown := little, little
	short.pressure, unknown.pressure = shortPressure, unknownPressure
	began := time.Now()
	auto, free := governor{policy: Auto}, governor{policy: Free}
	for i, step := range []struct {
		after time.Duration
		s     sample
		held  bool
	}{
		{0, plentiful, false}, {0, waits, false}, {0, little, false},
		{time.Second, short, true}, {2 * time.Second, plentiful, true},
		{calmTime, plentiful, true}, {calmTime + 2*time.Second, plentiful, false}, {2 * calmTime, unknown, true},
	} {
		now := began.Add(step.after)
		if got := auto.target(step.s, 0, now); (got > 0) != step.held {
			t.Errorf("step %d: auto holds %d MiB", i, got>>20)
		}
		if free.target(step.s, 0, now) == 0 {
			t.Errorf("step %d: free holds nothing", i)
		}
	}
}
