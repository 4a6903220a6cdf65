// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/sample"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
)

// A benchReport is what bench codec --json prints.
type benchReport struct {
	Source     string          `json:"source"`
	Generated  bool            `json:"generated"`
	Pages      int             `json:"pages"`       // measured
	SameFilled int             `json:"same_filled"` // pages left out
	Rounds     int             `json:"rounds"`
	Sets       instructionSets `json:"instruction_sets"`
	Results    []benchResult   `json:"results"`
}

// instructionSets are those of this machine, best first and plain Go last.
type instructionSets struct {
	Detected []string `json:"detected"`
	Usable   []string `json:"usable"` // what ZRAMFS_DISABLE leaves
}

// benchResult is one line of the table.
type benchResult struct {
	Algorithm      string    `json:"algorithm"`
	Implementation *string   `json:"implementation"` // null where there is no choice
	Default        bool      `json:"default"`        // the algorithm that a device uses unless told otherwise
	Selected       bool      `json:"selected"`       // the implementation that the algorithm uses unless told otherwise
	Ratio          float64   `json:"ratio"`
	Incompressible float64   `json:"incompressible"` // share of pages, 0 to 1
	Compress       benchTime `json:"compress"`
	Decompress     benchTime `json:"decompress"`
}

// benchTime is one direction.
type benchTime struct {
	Speed float64 `json:"mb_s"`   // 10^6 bytes of pages a second
	P50   float64 `json:"us_p50"` // microseconds a page
	P99   float64 `json:"us_p99"`
}

// report sums up what was measured.
func (r *benchRun) report(s sample.Sample) benchReport {
	b := benchReport{
		Source: s.Source, Generated: s.Source == sample.GeneratedSource, SameFilled: r.same, Rounds: r.done, Sets: instructionSets(codec.InstructionSets()),
	}
	for turn := range min(r.done, len(r.turns)) {
		b.Pages += len(r.turns[turn]) / pageSize
	}
	for _, c := range r.contestants {
		b.Results = append(b.Results, r.result(c))
	}
	return b
}

func (r *benchRun) result(c *contestant) benchResult {
	b := benchResult{
		Algorithm: c.Name, Default: isDefaultName(c.Name), Selected: c.Selected,
		Ratio:          float64(c.seen*pageSize) / float64(c.stored),
		Incompressible: float64(c.raw) / float64(c.seen),
		Compress:       r.timesOf(c, compressing),
		Decompress:     r.timesOf(c, decompressing),
	}
	if c.Set != "" {
		b.Implementation = &c.Set
	}
	return b
}

// timesOf takes the median of the rounds of each turn, since a round that something came between
// says nothing, and adds those up, since the turns have different pages.
func (r *benchRun) timesOf(c *contestant, d direction) benchTime {
	var bytes int
	var sum time.Duration
	for turn, times := range c.turnTimes[d] {
		if len(times) > 0 {
			bytes += len(r.turns[turn])
			sum += median(times)
		}
	}
	slices.Sort(c.pageTimes[d])
	return benchTime{
		Speed: float64(bytes) / 1e6 / max(sum, time.Nanosecond).Seconds(),
		P50:   microseconds(c.pageTimes[d], 50),
		P99:   microseconds(c.pageTimes[d], 99),
	}
}

// microseconds returns a percentile of sorted times.
func microseconds(sorted []time.Duration, percent int) float64 {
	return float64(sorted[(len(sorted)-1)*percent/100].Nanoseconds()) / 1e3
}

func (b benchReport) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of %s, %s left out as one repeated word; %s\n",
		term.Plural(b.Pages, "page", "pages"), b.Source, term.Plural(b.SameFilled, "page", "pages"), term.Plural(b.Rounds, "round", "rounds"))
	fmt.Fprintf(&out, "instruction sets: %s\n", instructionWords(daemon.InstructionStatus{Detected: b.Sets.Detected, Usable: b.Sets.Usable}))
	out.WriteString("speeds in MB/s, times in microseconds a page\n\n")
	out.WriteString(b.table().Render(term.Style{UTF8: term.UTF8(), Width: term.Width()}))
	if b.Generated {
		out.WriteString("\nThe pages are generated: their ratios say nothing about a machine. Use --pid or --file for that.\n")
	}
	return out.String()
}

func (b benchReport) table() term.Table {
	t := term.Table{Columns: []term.Column{
		{Name: "ALGORITHM"}, {Name: "IMPLEMENTATION"}, {Name: "RATIO", Right: true}, {Name: "COMPR", Right: true}, {Name: "C-P50", Right: true},
		{Name: "C-P99", Right: true}, {Name: "DECOMPR", Right: true}, {Name: "D-P50", Right: true}, {Name: "D-P99", Right: true},
	}}
	for _, r := range b.Results {
		t.Rows = append(t.Rows, append([]string{
			marked(r.Algorithm, r.Default), implementationCell(r), fmt.Sprintf("%.2f", r.Ratio),
		}, slices.Concat(r.Compress.cells(), r.Decompress.cells())...))
	}
	return t
}

func implementationCell(r benchResult) string {
	if r.Implementation == nil {
		return "-"
	}
	return marked(*r.Implementation, r.Selected)
}

// marked says that something is what would be taken.
func marked(text string, selected bool) string {
	if selected {
		return text + " (selected)"
	}
	return text
}

func (t benchTime) cells() []string {
	return []string{fmt.Sprintf("%.0f", t.Speed), fmt.Sprintf("%.2f", t.P50), fmt.Sprintf("%.2f", t.P99)}
}
