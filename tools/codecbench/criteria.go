// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The states of a criterion.
const (
	survived  = "SURVIVED"
	falsified = "FALSIFIED"
	open      = "OPEN"
)

// A finding is what was measured for one claim on one kind of data.
type finding struct {
	ID       string `json:"id"`
	Claim    string `json:"claim"`
	Measured string `json:"measured"`
	State    string `json:"state"`
}

// state returns the word for a claim that holds or not.
func state(holds bool) string {
	if holds {
		return survived
	}
	return falsified
}

func writeFindings(out io.Writer, all []finding) {
	fmt.Fprintf(out, "%s; beside Debian's liblz4 %s on the same data in the same run\n\n", cpuName(), libVersion())
	for _, f := range all {
		fmt.Fprintf(out, "%-4s  %-9s  %s: %s\n", f.ID, f.State, f.Claim, f.Measured)
	}
}

// speedClaims are the claimed speeds of one thread, in MB/s, and the claimed time of a page, in
// microseconds, for each instruction set.
var speedClaims = []struct {
	id, set                   string
	compress, decompress, p99 float64
}{
	{"F051", "generic", 500, 1000, 10},
	{"F052", "avx2", 3000, 8000, 1.5},
	{"F053", "avx512", 5000, 8000, 1.5},
}

// criteria measures what can be told of the criteria of speed in about the given time, and prints
// or writes it as JSON. previous is the report of the last release, or nil.
func criteria(real sample, all []*contestant, previous *report, budget time.Duration) ([]finding, error) {
	mixed, err := mixedSample()
	if err != nil {
		return nil, err
	}
	var found []finding
	subjects := named(all, []string{anchorName, "lz4:", "page:"})
	for _, data := range []sample{{name: "real pages", pages: real.pages}, mixed} {
		t, err := compare(data, subjects, 0, time.Now().Add(budget/4))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", data.name, err)
		}
		found = append(found, speeds(t)...)
	}
	t, err := compare(real, slices.DeleteFunc(slices.Clone(all), func(c *contestant) bool { return !c.ours && c.name != anchorName }), 0, time.Now().Add(budget/4))
	if err != nil {
		return nil, err
	}
	found = append(found, regressions(t, previous)...)
	more, err := mixtures(real)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	more, err = caches(real, selected(subjects))
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	more, err = scaling(real, selected(subjects))
	return append(found, more...), err
}

// speeds judges the claims of speed and of latency for each instruction set on one kind of data. A
// claim about an instruction set that no codec has code for, or that the machine lacks, stays open.
func speeds(t table) []finding {
	var found []finding
	lib := t.Lines[0]
	for _, claim := range speedClaims {
		before := len(found)
		for _, l := range t.Lines {
			if !l.Ours || l.PackLatency == nil || !strings.HasSuffix(l.Codec, ":simd="+claim.set) {
				continue
			}
			found = append(found, finding{
				claim.id, fmt.Sprintf("%s compresses %.0f MB/s, %s", l.Codec, claim.compress, t.Sample),
				fmt.Sprintf("%.0f, liblz4 %.0f", l.Pack, lib.Pack), state(l.Pack >= claim.compress),
			}, finding{
				claim.id, fmt.Sprintf("%s decompresses %.0f MB/s, %s", l.Codec, claim.decompress, t.Sample),
				fmt.Sprintf("%.0f, liblz4 %.0f", l.Unpack, lib.Unpack), state(l.Unpack >= claim.decompress),
			}, finding{
				"F055", fmt.Sprintf("%s compresses 99 of 100 pages in %.1f us, %s", l.Codec, claim.p99, t.Sample),
				fmt.Sprintf("%.2f, liblz4 %.2f", l.PackLatency.P99, lib.PackLatency.P99), state(l.PackLatency.P99 <= claim.p99),
			})
		}
		if len(found) == before {
			found = append(found, finding{claim.id, claim.set + ", " + t.Sample, "no codec uses it here", open})
		}
	}
	return found
}

// tolerance is how far a ratio to liblz4 may fall without a regression: the difference of two runs
// on a busy machine.
const tolerance = 0.05

// regressions judges the claim that no codec is slower, or larger, than in the last release,
// relative to liblz4.
func regressions(now table, previous *report) []finding {
	if previous == nil || len(previous.Tables) == 0 {
		return []finding{{"F060", "no codec is slower than in the last release", "its report is not there (-against)", open}}
	}
	var found []finding
	for _, old := range previous.Tables[0].Lines {
		if !old.Ours {
			continue
		}
		// The first of several implementations is the selected one.
		l, ok := firstOf(now.Lines, old.Codec)
		if !ok {
			continue
		}
		holds := l.RatioX >= old.RatioX*(1-tolerance) && l.PackX >= old.PackX*(1-tolerance) && l.UnpackX >= old.UnpackX*(1-tolerance)
		found = append(found, finding{
			"F060", old.Codec + " is no worse than in the last release",
			fmt.Sprintf("ratio, compression and decompression over liblz4's %.2f %.2f %.2f, then %.2f %.2f %.2f", l.RatioX, l.PackX, l.UnpackX,
				old.RatioX, old.PackX, old.UnpackX), state(holds),
		})
	}
	return found
}

func firstOf(lines []line, name string) (line, bool) {
	for _, l := range lines {
		if l.Ours && (l.Codec == name || strings.HasPrefix(l.Codec, name+":simd=")) {
			return l, true
		}
	}
	return line{}, false
}
