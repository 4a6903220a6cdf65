// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/store"
)

// minutes has an ageFinder look once a minute at a device of a million pages, on which perMinute
// pages are read in a minute, by class, and returns the last answer.
func minutes(f *ageFinder, reads *[store.AgeClasses]uint64, n int, perMinute map[int]uint64) (age time.Duration) {
	for range n {
		for class, more := range perMinute {
			reads[class] += more
		}
		age = f.look(*reads, 1_000_000, time.Minute)
	}
	return age
}

func classFrom(class int) time.Duration {
	from, _ := store.AgeClass(class)
	return from
}

// The age is the least beyond which fewer than 2000 of a million pages are read in a minute, in the
// mean of seven and in the last: it rises in the minute in which the load shifts, and falls once
// the mean allows it.
func TestAgeFollowsTheReads(t *testing.T) {
	var f ageFinder
	var reads [store.AgeClasses]uint64
	least := new(shares).coldFrom()
	if least < leastAge || least > 2*leastAge {
		t.Errorf("the least age is %s", least)
	}
	if age := minutes(&f, &reads, memory, map[int]uint64{3: 50_000}); age != mostAge {
		t.Errorf("pages are cold from %s on before much is known", age)
	}
	for _, step := range []struct {
		minutes   int
		perMinute map[int]uint64
		want      time.Duration
		rate      float64
	}{
		{1, map[int]uint64{3: 50_000}, least, 0},
		{1, map[int]uint64{9: 1500, 11: 1500}, classFrom(10), 0.003},
		{1, nil, least, 0}, // 429 in the mean
		{1, map[int]uint64{9: 13_000, 11: 1500}, classFrom(10), 0.0145},
		{memory - 1, nil, classFrom(10), 0}, // 2071 and more in the mean, of those 429 in class 11
		{1, nil, least, 0},
		{1, map[int]uint64{13: 2500}, mostAge, 0.0025},
	} {
		age := minutes(&f, &reads, step.minutes, step.perMinute)
		if age != step.want || f.rate < step.rate-1e-6 || f.rate > step.rate+1e-6 {
			t.Errorf("after %+v pages are cold from %s on, at a rate of %g", step, age, f.rate)
		}
	}
}

// A worker that counts anew, a device without pages and a clock that stands still change nothing.
func TestAgeOfOddFigures(t *testing.T) {
	var f ageFinder
	var reads [store.AgeClasses]uint64
	before := minutes(&f, &reads, memory+1, map[int]uint64{9: 5000})
	if age := f.look([store.AgeClasses]uint64{}, 1_000_000, time.Minute); age != before {
		t.Errorf("%s became %s where counts began anew", before, age)
	}
	if age := f.look(reads, 0, 0); age != before {
		t.Errorf("%s became %s in no time", before, age)
	}
}

// Packing takes more, and more of the time, the less memory is left.
func TestHarder(t *testing.T) {
	full := fillOf(store.Stats{MemUsedTotal: 95, MemLimit: 100})
	if none := fillOf(store.Stats{MemUsedTotal: 95}); none != 0 || full != 0.95 {
		t.Errorf("%g without a limit, %g of it", none, full)
	}
	for _, c := range []struct {
		fill  float64
		from  from
		share Share
	}{{0.5, from{leastAge, time.Hour}, 5}, {0.8, from{leastAge, leastAge}, 20}, {full, from{leastAge / 4, leastAge / 4}, 40}, {1.01, from{}, 80}} {
		if from, share := packLimits(c.fill, time.Hour, 5); from != c.from || share != c.share {
			t.Errorf("at %g from %v on in %s, want %v in %s", c.fill, from, share, c.from, c.share)
		}
	}
	if got, share := packLimits(full, time.Second, 90); got != (from{time.Second, time.Second}) || share != 100 {
		t.Errorf("from %v on in %s", got, share)
	}
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]Share{"off": 0, "5%": 5, "5": 5, "100%": 100} {
		got, err := ParseShare(text)
		if again, aerr := ParseShare(got.String()); got != want || err != nil || again != want || aerr != nil {
			t.Errorf("%s is %d, %v; %s is %d, %v", text, got, err, got, again, aerr)
		}
	}
	for _, text := range []string{"", "0", "101%", "-1", "5%%", "1.5", "on"} {
		if got, err := ParseShare(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
