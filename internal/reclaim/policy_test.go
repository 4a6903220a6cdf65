// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// calmLook is a group of 1 GiB on a machine with time and swap.
var calmLook = Look{Since: 6 * time.Second, Current: 1 << 30, Swap: 0.2, Device: 0.3}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Look)
		bytes  uint64
		reason string
	}{
		"calm":                    {func(*Look) {}, 1 << 30 / 100, ""},
		"a tenth of the pressure": {func(l *Look) { l.Memory = 600 * time.Microsecond }, 1 << 30 / 100, ""},
		"half of the pressure":    {func(l *Look) { l.Memory = 3 * time.Millisecond }, 1 << 30 / 100 / 25, ""},
		"the pressure":            {func(l *Look) { l.IO = 6 * time.Millisecond }, 1 << 30 / 100 / 100, ""},
		"waits for memory":        {func(l *Look) { l.Memory = 7 * time.Millisecond }, 0, "memory"},
		"waits for files":         {func(l *Look) { l.IO = 7 * time.Millisecond }, 0, "input"},
		"first look":              {func(l *Look) { l.Since = 0 }, 0, "first time"},
		"no swap":                 {func(l *Look) { l.Swap = 1 }, 0, "no swap"},
		"full swap":               {func(l *Look) { l.Swap = 0.8 }, 0, "80 % of swap"},
		"full device":             {func(l *Look) { l.Device = 0.85 }, 0, "85 % of its memory limit"},
		"silent device":           {func(l *Look) { l.Device = 1 }, 0, "does not answer"},
		"much was swapped":        {func(l *Look) { l.SwappedOut = 7 << 20 }, 0, "written to swap"},
		"little was swapped":      {func(l *Look) { l.SwappedOut = 5 << 20 }, 1 << 30 / 100, ""},
		"small":                   {func(l *Look) { l.Current = 50 << 20 }, 0, "little memory"},
		"near the floor":          {func(l *Look) { l.Current = Default.Floor + 1<<17 }, 1 << 17, ""},
		"at the floor":            {func(l *Look) { l.Current = Default.Floor + 1<<15 }, 0, "little"},
	} {
		l := calmLook
		c.change(&l)
		got := Default.Next(l)
		if diff := int64(got.Bytes) - int64(c.bytes); diff < -1 || diff > 1 || (got.Reason == "") != (c.reason == "") || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %+v, want %d and %q", name, got, c.bytes, c.reason)
		}
	}
}

// A recorded trace: a group whose process sleeps, and in which a compiler ran under a memory limit
// from the 36th second on. It is asked while all sleep, and left alone while the compiler waits.
// The group counts as four times as large as it was, which keeps it above the floor.
func TestNextOnRecordedPressure(t *testing.T) {
	text, err := os.ReadFile("testdata/compiler.csv")
	if err != nil {
		t.Fatal(err)
	}
	var before, now struct {
		second, memory, io int64
		current, swapped   uint64
	}
	asked := map[bool]int{} // by whether the compiler runs
	rounds := map[bool]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%d,%d,%d,%d,%d", &now.second, &now.memory, &now.io, &now.current, &now.swapped); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if now.second > 0 {
			l := calmLook
			l.Since = time.Duration(now.second-before.second) * time.Second
			l.Memory, l.IO = time.Duration(now.memory-before.memory)*time.Microsecond, time.Duration(now.io-before.io)*time.Microsecond
			l.Current, l.SwappedOut = 4*now.current, (now.swapped-before.swapped)*4096
			compiling := now.second > 36 && now.second <= 90
			rounds[compiling]++
			step := Default.Next(l)
			if step.Bytes > l.Current/100 {
				t.Errorf("second %d: %+v of %d bytes", now.second, step, l.Current)
			}
			if step.Bytes > 0 {
				asked[compiling]++
			}
			t.Logf("second %d: waited %v and %v of %v: %+v", now.second, l.Memory, l.IO, l.Since, step)
		}
		before = now
	}
	t.Logf("asked in %v of %v rounds", asked, rounds)
	if asked[false] < rounds[false]/2 || asked[true] > rounds[true]/3 {
		t.Errorf("asked in %d of %d rounds while all slept, and in %d of %d while a compiler waited for memory", asked[false], rounds[false], asked[true], rounds[true])
	}
}
