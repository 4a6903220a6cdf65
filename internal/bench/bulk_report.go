// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

// A BulkReport is the result of Bulk, and the output of bench bulk --json.
type BulkReport struct {
	Source     string       `json:"source"`       // where the pages come from
	Generated  bool         `json:"generated"`    // whether they were generated
	Pages      int          `json:"pages"`        // different ones of a batch
	SameFilled int          `json:"same_filled"`  // pages of one repeated word, left out
	Batch      int          `json:"batch_pages"`  // pages of a batch
	Wanted     int          `json:"wanted_pages"` // of a batch, were there memory enough
	Rounds     int          `json:"rounds"`       // rounds of measuring
	Workers    int          `json:"workers"`      // one on each core
	Engines    []string     `json:"engines"`      // other than the CPU
	Missing    []string     `json:"missing"`      // kinds without an engine, with the reasons
	Trouble    []string     `json:"trouble"`      // errors of engines that did not end the measurement
	Results    []BulkResult `json:"results"`      // the measurements
}

// A BulkResult is the measurement of one operation of an algorithm by one set of engines.
type BulkResult struct {
	Algorithm string  `json:"algorithm"` // the algorithm
	Default   bool    `json:"default"`   // the algorithm that a device uses by default
	Ratio     float64 `json:"ratio"`     // data for each stored byte
	Operation string  `json:"operation"` // compress or decompress
	By        string  `json:"by"`        // engines, joined by +
	Workers   int     `json:"workers"`   // of the CPU
	Pages     int     `json:"pages"`     // of a batch
	Speed     float64 `json:"mb_s"`      // 10^6 bytes of pages per second
	OfOne     float64 `json:"of_one"`    // multiple of one worker's speed
	OfMemcpy  float64 `json:"of_memcpy"` // multiple of a copy by as many workers
	Share     float64 `json:"share"`     // of pages done by other engines, 0 to 1
	Parts     []Part  `json:"parts"`     // by engine
	// Fallbacks counts the pages that the CPU did in place of another engine, by bulk.Reason.
	Fallbacks map[string]int `json:"fallbacks"`
}

// A Part is the work of one engine in all batches of a result. Times are in milliseconds, and 0 for
// stages that the engine lacks.
type Part struct {
	Engine   string  `json:"engine"`       // its name
	Pages    int     `json:"pages"`        // pages that it worked on
	Pieces   int     `json:"pieces"`       // pieces of work that it did
	Learned  float64 `json:"learned_mb_s"` // its speed as last measured by the planner
	Busy     float64 `json:"busy_ms"`      // time that it worked
	H2D      float64 `json:"h2d_ms"`       // time of copying to it
	Kernel   float64 `json:"kernel_ms"`    // time of its kernels
	D2H      float64 `json:"d2h_ms"`       // time of copying back
	Failures int     `json:"failures"`     // pieces that ended with an error
	// LastError is the error of the last failure, or empty.
	LastError string `json:"last_error,omitempty"`
}

// report sums up the measurements.
func (r *bulkRun) report(s sample.Sample) BulkReport {
	b := BulkReport{
		Source: s.Source, Generated: s.Source == sample.GeneratedSource, Pages: r.own, SameFilled: r.same, Batch: r.made.N, Wanted: r.wanted, Rounds: r.done,
		Workers: runtime.GOMAXPROCS(0), Engines: []string{}, Missing: append([]string{}, r.engines.missing...),
		Trouble: append([]string{}, slices.Concat(r.engines.trouble, r.engines.faults())...),
	}
	for _, t := range r.subjects {
		for _, name := range t.names() {
			if !slices.Contains(b.Engines, name) {
				b.Engines = append(b.Engines, name)
			}
		}
		one := map[bulk.Op]float64{}
		for _, c := range t.entries {
			if c.idle || t.algorithm.String() == rawName && c.op == bulk.Compress {
				continue // it copies nothing
			}
			speed := c.speed()
			if c.alone {
				one[c.op] = speed
			}
			b.Results = append(b.Results, r.result(t, c, speed, one[c.op], r.memcpy(c)))
		}
	}
	return b
}

// speed returns the median speed, which ignores a round that an interrupt lengthened.
func (c *entry) speed() float64 { return speedOf(c.pages, median(c.times)) }

// memcpy returns the speed of a plain copy by as many workers as an entry has: one or all.
func (r *bulkRun) memcpy(of *entry) float64 {
	var speed float64
	for _, c := range r.subjects[0].entries {
		if c.op == bulk.Decompress && (speed == 0 || c.alone == of.alone) {
			speed = c.speed()
		}
	}
	return speed
}

func (r *bulkRun) result(t *subject, c *entry, speed, one, memcpy float64) BulkResult {
	b := BulkResult{
		Algorithm: t.algorithm.String(), Default: isDefault(t.algorithm.String()), Ratio: cmp.Or(c.ratio, t.ratio),
		Operation: c.op.String(), By: c.by, Workers: c.sum.Engines[0].Lanes, Pages: c.pages, Speed: speed, OfOne: speed / one, OfMemcpy: speed / memcpy,
		Fallbacks: map[string]int{},
	}
	if b.Algorithm == rawName {
		b.Algorithm = copyName
	}
	for i := range c.sum.Engines {
		e := &c.sum.Engines[i]
		if i > 0 {
			b.Share += c.sum.Share(e.Name)
		}
		part := Part{
			Engine: e.Name, Pages: e.Items, Pieces: e.Pieces, Learned: e.Rate * pageSize / 1e6, Busy: toMilliseconds(e.Busy),
			H2D: toMilliseconds(e.Times.H2D), Kernel: toMilliseconds(e.Times.Kernel), D2H: toMilliseconds(e.Times.D2H), Failures: e.Failures,
		}
		if e.Err != nil {
			part.LastError = term.OneLine(e.Err.Error())
		}
		b.Parts = append(b.Parts, part)
	}
	for reason, n := range c.sum.Fallbacks {
		if n > 0 {
			b.Fallbacks[bulk.Reason(reason).String()] = n
		}
	}
	return b
}

// Text returns the report as a table of one line per result, below the batch, the engines and their
// errors, and fitted to the terminal.
func (b BulkReport) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "batches of %s, %d different ones of %s, %s left out as one repeated word; %s\n",
		term.Plural(b.Batch, "page", "pages"), b.Pages, b.Source, term.Plural(b.SameFilled, "page", "pages"), term.Plural(b.Rounds, "round", "rounds"))
	if b.Batch < b.Wanted {
		fmt.Fprintf(&out, "the batch was to have %s, for which there is not memory enough\n", term.Plural(b.Wanted, "page", "pages"))
	}
	engines := "none but the CPU"
	if len(b.Engines) > 0 {
		engines = imageio.CPUName + ", " + strings.Join(b.Engines, ", ")
	}
	fmt.Fprintf(&out, "engines: %s, with %s\n", engines, term.Plural(b.Workers, "worker", "workers"))
	for _, why := range b.Missing {
		fmt.Fprintf(&out, "no %s\n", why)
	}
	for _, what := range b.Trouble {
		fmt.Fprintf(&out, "trouble: %s\n", what)
	}
	fmt.Fprintf(&out, "instruction sets: %s\n", strings.Join(codec.InstructionSets().Usable, ", "))
	out.WriteString("speeds in MB/s, and as multiples of one worker's and of a plain copy's by as many workers\n\n")
	style := term.Style{UTF8: term.UTF8(), Width: term.Width()}
	out.WriteString(b.table().Render(style))
	if b.Generated {
		out.WriteString("\nThe pages are generated: their ratios say nothing about a machine. Use --pid or --file for that.\n")
	}
	return out.String()
}

func (b BulkReport) table() term.Table {
	t := term.Table{Columns: []term.Column{
		{Name: "ALGORITHM"}, {Name: "RATIO", Right: true}, {Name: "OPERATION"}, {Name: "BY"}, {Name: "WORKERS", Right: true},
		{Name: "SPEED", Right: true}, {Name: "OF-ONE", Right: true}, {Name: "OF-COPY", Right: true}, {Name: "SHARE", Right: true},
	}}
	for _, r := range b.Results {
		share := "-"
		if r.mode() != bulk.CPUAlone {
			share = fmt.Sprintf("%.0f%%", 100*r.Share)
		}
		t.Rows = append(t.Rows, []string{
			marked(r.Algorithm, r.Default), fmt.Sprintf("%.2f", r.Ratio), r.Operation, r.By, fmt.Sprint(r.Workers),
			fmt.Sprintf("%.0f", r.Speed), fmt.Sprintf("%.2f", r.OfOne), fmt.Sprintf("%.2f", r.OfMemcpy), share,
		})
	}
	return t
}

// mode returns the mode of the planner for the result.
func (r BulkResult) mode() bulk.Mode {
	switch {
	case r.By == imageio.CPUName:
		return bulk.CPUAlone
	case strings.HasPrefix(r.By, imageio.CPUName+"+"):
		return bulk.Shared
	}
	return bulk.EnginesAlone
}

// speedOf returns 10^6 bytes of pages per second.
func speedOf(pages int, took time.Duration) float64 {
	return float64(pages) * pageSize / 1e6 / max(took, time.Nanosecond).Seconds()
}

func toMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
