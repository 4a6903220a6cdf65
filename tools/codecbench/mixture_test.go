// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/pages"
)

// The oracle takes the pages that save most in the least time, a part of the last one, and none
// that would grow.
func TestOracleTakesTheBest(t *testing.T) {
	costs := []pageCost{
		{bytes: [2]int{1000, 900}, ns: [2]float64{10, 110}},  // 1 a nanosecond
		{bytes: [2]int{1000, 700}, ns: [2]float64{10, 110}},  // 3
		{bytes: [2]int{1000, 600}, ns: [2]float64{10, 210}},  // 2
		{bytes: [2]int{1000, 1100}, ns: [2]float64{10, 110}}, // grows
	}
	for fraction, want := range map[float64]float64{0: 0, 0.1: 150, 0.2: 300, 0.4: 500, 0.6: 700, 0.8: 800, 1: 800} {
		if got := 4 * oracle(costs, fraction); math.Abs(got-want) > 1e-6 {
			t.Errorf("in %.1f of the time it saves %.1f bytes, want %.1f", fraction, got, want)
		}
	}
}

// One level that falls short falsifies the claim.
func TestMixturesAreJudged(t *testing.T) {
	good, poor, bad := mixture{stored: 940, mix: 1000, oracle: 900}, mixture{stored: 960, mix: 1000, oracle: 900}, mixture{stored: 1001, mix: 1000, oracle: 900}
	for want, all := range map[string][]mixture{"SURVIVED SURVIVED": {good, good}, "SURVIVED FALSIFIED": {good, poor}, "FALSIFIED FALSIFIED": {bad, good}} {
		var got []string
		for _, f := range judgeMixtures("test", all) {
			got = append(got, f.State)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v: %s, want %s", all, text, want)
		}
	}
}

// Every level between the ends is measured, and stores what lies between them.
func TestMixturesOfPages(t *testing.T) {
	all, err := mixturesOf(inTurns(append(pages.Generate(pages.Text, 300, 3), pages.Generate(pages.Pointers, 300, 3)...)))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("nothing was measured")
	}
	for i, m := range all {
		if m.share <= 0 || m.share >= 1 || m.stored <= 0 || m.time <= 0 || m.oracle <= 0 || i > 0 && m.share < all[i-1].share/2 {
			t.Errorf("level %d: %+v", i+1, m)
		}
	}
}
