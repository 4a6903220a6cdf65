// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"bytes"
	"fmt"
	"testing"
	"text/tabwriter"
	"time"
)

// recorded are the traces of real programs under tools/agetrace, and what part of the time of
// Android's ages the device may take until as much memory is saved.
var recorded = []struct {
	name string
	part float64
}{
	{"database", 0.1},
	// Its pages are read at all ages: a tenth of the time would cost more than the target.
	{"browser", 0.16},
	{"build", 0.1},
	{"mixed", 0.1}, // the load shifts three times
}

// usedParts are the parts of a machine's memory in use for which Android has an age.
var usedParts = []float64{0, 0.2, 0.5, 0.9}

// packingSaves is the part of the memory of pages that packing saves: from 0.60 to 0.46 of what
// kernel zram takes (go test -bench Cold ./store).
const packingSaves = (0.60 - 0.46) / 0.60

// A result is what a policy did with a trace.
type result struct {
	saved float64       // part of the memory that it saved, mean of all minutes
	share float64       // cold pages read in a minute, as part of the stored pages, mean of all
	worst float64       // the same in the worst hour
	age   time.Duration // mean
}

// String is a part of a line of the table.
func (r result) String() string {
	return fmt.Sprintf("%.1f %%\t%.2f %%\t%.2f %%", 100*r.saved, 100*r.share, 100*r.worst)
}

func resultOf(r *replay) (result result) {
	var packed, stored, back float64
	for i, m := range r.minutes {
		packed, stored, back = packed+float64(m.packed), stored+float64(m.stored), back+float64(m.back)
		result.age += m.age / time.Duration(len(r.minutes))
		var hourStored, hourBack float64
		for _, n := range r.minutes[max(i-59, 0) : i+1] {
			hourStored, hourBack = hourStored+float64(n.stored), hourBack+float64(n.back)
		}
		if i >= 59 {
			result.worst = max(result.worst, hourBack/hourStored)
		}
	}
	result.saved, result.share = packed/stored*packingSaves, back/stored
	return result
}

// delays is how long two policies take, on the average of all amounts of memory that the second
// has saved at some time, from when as many pages are stored until as many are packed.
func delays(a, b *replay) (ofA, ofB time.Duration) {
	var top uint64
	for _, m := range b.minutes {
		top = max(top, m.packed)
	}
	for n := uint64(1); n <= top; n++ {
		from := first(b, func(m replayMinute) bool { return m.stored >= n })
		packed := func(m replayMinute) bool { return m.packed >= n }
		ofA += first(a, packed) - from
		ofB += first(b, packed) - from
	}
	return ofA / time.Duration(max(top, 1)), ofB / time.Duration(max(top, 1))
}

// first is when something is so for the first time, the end where it never is.
func first(r *replay, so func(replayMinute) bool) time.Duration {
	for i, m := range r.minutes {
		if so(m) {
			return time.Duration(i) * time.Minute
		}
	}
	return r.now()
}

// On the same traces a device saves at least as much memory as with each of Android's ages, has
// saved as much in a part of their time, and the share of pages that are read back after they
// became cold stays within twice the target, in the mean of the trace.
func TestAgainstFixedAges(t *testing.T) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "trace\tage of cold pages\tmemory saved\tread back a minute\tin the worst hour\tmeasured saved as much after")
	for _, c := range recorded {
		trace := readTrace(t, c.name)
		ours := run(trace, &ageFinder{})
		got := resultOf(ours)
		fmt.Fprintf(w, "%s, %.1f h\tmeasured, mean %s\t%s\t\n", c.name, ours.now().Hours(), got.age.Round(time.Minute), got)
		if got.share > 2*target {
			t.Errorf("%s: %.2f %% of the pages are read in a minute after they became cold", c.name, 100*got.share)
		}
		for _, part := range usedParts {
			age := fixed(part)
			other := run(trace, age)
			its := resultOf(other)
			after, theirs := delays(ours, other)
			fmt.Fprintf(w, "\t%s, %.0f %% in use\t%s\t%.0f of %.0f min\n", time.Duration(age).Round(time.Minute), 100*part, its, after.Minutes(), theirs.Minutes())
			if got.saved < its.saved || after.Minutes() > c.part*theirs.Minutes() {
				t.Errorf("%s: saved %.1f %%, from %s on %.1f %%; as much after %s of %s", c.name, 100*got.saved, time.Duration(age), 100*its.saved, after, theirs)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
}

// Pages become cold, are packed, read back and written anew in a replay as on a device.
func TestReplay(t *testing.T) {
	trace := []access{{0, 'w', 0, 10}, {0, 'r', 99, 1}, {10, 'r', 0, 1}, {200, 'r', 1, 2}, {200, 'w', 2, 1}, {200, 'd', 3, 2}, {201, 'r', 1, 1}}
	r := run(trace, fixedAge(2*time.Hour))
	for minute, want := range map[int]replayMinute{
		118: {stored: 10},
		119: {stored: 10, packed: 9},         // all but the one read since
		129: {stored: 10, packed: 10},        // that one too
		200: {stored: 8, packed: 7, back: 2}, // one of those written anew, two gone
		201: {stored: 8, packed: 7, back: 0}, // it was no longer cold
	} {
		want.age = 2 * time.Hour
		if got := r.minutes[minute]; got != want {
			t.Errorf("minute %d has %+v, want %+v", minute, got, want)
		}
	}
	if class := classOf(0, 0); class != 0 {
		t.Errorf("a new page is in class %d", class)
	}
}
