// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

// A CodecReport is the result of Codec, and the output of bench codec --json.
type CodecReport struct {
	Source     string          `json:"source"`           // where the pages come from
	Generated  bool            `json:"generated"`        // whether they were generated
	Pages      int             `json:"pages"`            // that were measured
	SameFilled int             `json:"same_filled"`      // pages of one repeated word, left out
	Rounds     int             `json:"rounds"`           // rounds of measuring
	Sets       InstructionSets `json:"instruction_sets"` // those of the processor
	Results    []CodecResult   `json:"results"`          // the measurements
}

// InstructionSets are the sets that the codecs have code for on this machine, best first, with
// generic for plain Go at the end.
type InstructionSets struct {
	Detected []string `json:"detected"` // those that the program has code for, best first
	Usable   []string `json:"usable"`   // without those that ZRAMFS_DISABLE names
}

// A CodecResult is the measurement of one implementation of an algorithm.
type CodecResult struct {
	Algorithm      string  `json:"algorithm"`      // the algorithm
	Implementation *string `json:"implementation"` // null where the algorithm has only one
	Default        bool    `json:"default"`        // the algorithm is a device's default
	Selected       bool    `json:"selected"`       // the algorithm's default
	Ratio          float64 `json:"ratio"`          // data for each stored byte
	Incompressible float64 `json:"incompressible"` // share of pages stored as they are, 0 to 1
	Compress       Timing  `json:"compress"`       // the rates of compressing
	Decompress     Timing  `json:"decompress"`     // the rates of decompressing
}

// A Timing is the speed of one direction, and the distribution of its times.
type Timing struct {
	Speed float64 `json:"mb_s"`   // 10^6 bytes of pages per second
	P50   float64 `json:"us_p50"` // median of microseconds per page
	P99   float64 `json:"us_p99"` // 99th percentile
}

// report sums up the measurements.
func (r *codecRun) report(s sample.Sample) CodecReport {
	b := CodecReport{
		Source: s.Source, Generated: s.Source == sample.GeneratedSource, SameFilled: r.same, Rounds: r.done, Sets: InstructionSets(codec.InstructionSets()),
	}
	for turn := range min(r.done, len(r.turns)) {
		b.Pages += len(r.turns[turn]) / pageSize
	}
	for _, c := range r.contestants {
		b.Results = append(b.Results, r.result(c))
	}
	return b
}

func (r *codecRun) result(c *contestant) CodecResult {
	b := CodecResult{
		Algorithm: c.Name, Default: isDefault(c.Name), Selected: c.Selected,
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

// timesOf adds up the medians of all turns, which have different pages each. A median ignores a
// round that an interrupt lengthened.
func (r *codecRun) timesOf(c *contestant, d direction) Timing {
	var bytes int
	var sum time.Duration
	for turn, times := range c.turnTimes[d] {
		if len(times) > 0 {
			bytes += len(r.turns[turn])
			sum += median(times)
		}
	}
	sortTimes(c.pageTimes[d])
	return Timing{
		Speed: float64(bytes) / 1e6 / max(sum, time.Nanosecond).Seconds(),
		P50:   microseconds(c.pageTimes[d], 50),
		P99:   microseconds(c.pageTimes[d], 99),
	}
}

// microseconds returns a percentile of sorted times.
func microseconds(sorted []time.Duration, percent int) float64 {
	return float64(sorted[(len(sorted)-1)*percent/100].Nanoseconds()) / 1e3
}

// Text returns the report as a table of one line per implementation, below the source of the pages,
// and fitted to the terminal.
func (b CodecReport) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of %s, %s left out as one repeated word; %s\n",
		term.Plural(b.Pages, "page", "pages"), b.Source, term.Plural(b.SameFilled, "page", "pages"), term.Plural(b.Rounds, "round", "rounds"))
	fmt.Fprintf(&out, "instruction sets: %s\n", b.Sets.text())
	out.WriteString("speeds in MB/s, times in microseconds a page\n\n")
	out.WriteString(b.table().Render(term.Style{UTF8: term.UTF8(), Width: term.Width()}))
	if b.Generated {
		out.WriteString("\nThe pages are generated: their ratios say nothing about a machine. Use --pid or --file for that.\n")
	}
	return out.String()
}

// text lists the usable sets, and the others as switched off.
func (s InstructionSets) text() string {
	text := strings.Join(s.Usable, ", ")
	off := slices.DeleteFunc(slices.Clone(s.Detected), func(set string) bool { return slices.Contains(s.Usable, set) })
	if len(off) > 0 {
		text += "; switched off by ZRAMFS_DISABLE: " + strings.Join(off, ", ")
	}
	return text
}

func (b CodecReport) table() term.Table {
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

func implementationCell(r CodecResult) string {
	if r.Implementation == nil {
		return "-"
	}
	return marked(*r.Implementation, r.Selected)
}

// marked adds a mark to the name of the default.
func marked(text string, selected bool) string {
	if selected {
		return text + " (selected)"
	}
	return text
}

func (t Timing) cells() []string {
	return []string{fmt.Sprintf("%.0f", t.Speed), fmt.Sprintf("%.2f", t.P50), fmt.Sprintf("%.2f", t.P99)}
}
