// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"zramfs/codec"
	"zramfs/codec/bulk"
)

// A bulkReport is what bench bulk --json prints.
type bulkReport struct {
	Source     string          `json:"source"`
	Generated  bool            `json:"generated"`
	Pages      int             `json:"pages"`       // different ones
	SameFilled int             `json:"same_filled"` // pages left out
	Batch      int             `json:"batch_pages"`
	Rounds     int             `json:"rounds"`
	Workers    int             `json:"workers"` // one on each core
	Engines    []string        `json:"engines"` // beside the CPU
	Missing    []string        `json:"missing"` // kinds of engine that there is none of, and why
	Results    []bulkResult    `json:"results"`
	Crossovers []bulkCrossover `json:"crossovers"`
}

// bulkResult is one line of the table.
type bulkResult struct {
	Algorithm string         `json:"algorithm"`
	Default   bool           `json:"default"` // the algorithm that a device uses unless told otherwise
	Ratio     float64        `json:"ratio"`
	Operation string         `json:"operation"`
	By        string         `json:"by"`        // engines, with + between them
	Workers   int            `json:"workers"`   // of the CPU
	Speed     float64        `json:"mb_s"`      // 10^6 bytes of pages a second
	OfOne     float64        `json:"of_one"`    // that of one worker at the same operation
	OfMemcpy  float64        `json:"of_memcpy"` // that of a plain copy by as many workers
	Share     float64        `json:"share"`     // of the pages that the other engines did, 0 to 1
	Parts     []bulkPart     `json:"parts"`     // by engine
	Fallbacks map[string]int `json:"fallbacks"` // pages that the CPU did for another engine, by reason
}

// bulkPart is what one engine did of all batches of a line. Times are in milliseconds, of the stages that it has.
type bulkPart struct {
	Engine   string  `json:"engine"`
	Pages    int     `json:"pages"`
	Pieces   int     `json:"pieces"`
	Learned  float64 `json:"learned_mb_s"` // the speed that it was last measured at
	Busy     float64 `json:"busy_ms"`
	H2D      float64 `json:"h2d_ms"`
	Kernel   float64 `json:"kernel_ms"`
	D2H      float64 `json:"d2h_ms"`
	Failures int     `json:"failures"`
}

// bulkCrossover is the smallest batch from which on the other engines alone are faster than the CPU alone.
type bulkCrossover struct {
	Algorithm string `json:"algorithm"`
	Operation string `json:"operation"`
	Pages     *int   `json:"pages"` // null where they are not, up to the batch that was measured
}

// report sums up what was measured.
func (r *bulkRun) report(s pageSample) bulkReport {
	b := bulkReport{
		Source: s.source, Generated: s.source == generatedSource, Pages: r.own, SameFilled: r.same, Batch: r.made.N, Rounds: r.done,
		Workers: runtime.GOMAXPROCS(0), Engines: []string{}, Missing: append([]string{}, r.missing...), Crossovers: []bulkCrossover{},
	}
	for _, t := range r.teams {
		for _, name := range t.engines {
			if !slices.Contains(b.Engines, name) {
				b.Engines = append(b.Engines, name)
			}
		}
		one := map[bulk.Op]float64{}
		for _, c := range t.crews {
			speed := r.speed(c)
			if c.alone {
				one[c.op] = speed
			}
			if t.algorithm.String() == rawName && c.op == bulk.Compress {
				continue // it moves nothing
			}
			b.Results = append(b.Results, r.result(t, c, speed, one[c.op], r.memcpy(c)))
		}
		b.Crossovers = append(b.Crossovers, t.cross...)
	}
	return b
}

// speed is bytes of pages a microsecond: by the median, since a round that something came between says nothing.
func (r *bulkRun) speed(c *crew) float64 {
	return float64(r.made.N) * pageSize / 1e6 / max(median(c.times), time.Nanosecond).Seconds()
}

// memcpy is the speed of a plain copy by one worker, if a crew is that, else by all.
func (r *bulkRun) memcpy(of *crew) float64 {
	var speed float64
	for _, c := range r.teams[0].crews {
		if c.op == bulk.Decompress && (speed == 0 || c.alone == of.alone) {
			speed = r.speed(c)
		}
	}
	return speed
}

func (r *bulkRun) result(t *team, c *crew, speed, one, memcpy float64) bulkResult {
	b := bulkResult{
		Algorithm: t.algorithm.String(), Default: isDefault(t.algorithm), Ratio: float64(r.made.N) * pageSize / float64(t.stored),
		Operation: c.op.String(), By: c.by, Workers: c.sum.Engines[0].Lanes, Speed: speed, OfOne: speed / one, OfMemcpy: speed / memcpy,
		Fallbacks: map[string]int{},
	}
	if b.Algorithm == rawName {
		b.Algorithm = anchorName
	}
	for i := range c.sum.Engines {
		e := &c.sum.Engines[i]
		if i > 0 {
			b.Share += c.sum.Share(e.Name)
		}
		b.Parts = append(b.Parts, bulkPart{
			Engine: e.Name, Pages: e.Items, Pieces: e.Pieces, Learned: e.Rate * pageSize / 1e6, Busy: milliseconds(e.Busy),
			H2D: milliseconds(e.Times.H2D), Kernel: milliseconds(e.Times.Kernel), D2H: milliseconds(e.Times.D2H), Failures: e.Failures,
		})
	}
	for reason, n := range c.sum.Fallbacks {
		if n > 0 {
			b.Fallbacks[bulk.Reason(reason).String()] = n
		}
	}
	return b
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func (b bulkReport) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "batches of %s, %d different ones of %s, %s left out as one repeated word; %s\n",
		plural(b.Batch, "page", "pages"), b.Pages, b.Source, plural(b.SameFilled, "page", "pages"), plural(b.Rounds, "round", "rounds"))
	engines := "none but the CPU"
	if len(b.Engines) > 0 {
		engines = cpuName + ", " + strings.Join(b.Engines, ", ")
	}
	fmt.Fprintf(&out, "engines: %s, with %s\n", engines, plural(b.Workers, "worker", "workers"))
	for _, why := range b.Missing {
		fmt.Fprintf(&out, "no %s\n", why)
	}
	fmt.Fprintf(&out, "instruction sets: %s\n", strings.Join(codec.InstructionSets().Usable, ", "))
	out.WriteString("speeds in MB/s, and as multiples of one worker's and of a plain copy's by as many workers\n\n")
	out.WriteString(b.table().render(tableStyle{utf8: localeIsUTF8(), width: terminalWidth()}))
	if len(b.Crossovers) > 0 {
		out.WriteString("\n" + b.crossoverText())
	}
	if b.Generated {
		out.WriteString("\nThe pages are generated: their ratios say nothing about a machine. Use --pid or --file for that.\n")
	}
	return out.String()
}

func (b bulkReport) table() table {
	t := table{columns: []tableColumn{
		{name: "ALGORITHM"}, {name: "RATIO", right: true}, {name: "OPERATION"}, {name: "BY"}, {name: "WORKERS", right: true},
		{name: "SPEED", right: true}, {name: "OF-ONE", right: true}, {name: "OF-COPY", right: true}, {name: "SHARE", right: true},
	}}
	for _, r := range b.Results {
		share := "-"
		if len(r.Parts) > 1 {
			share = fmt.Sprintf("%.0f%%", 100*r.Share)
		}
		t.rows = append(t.rows, []string{
			marked(r.Algorithm, r.Default), fmt.Sprintf("%.2f", r.Ratio), r.Operation, r.By, fmt.Sprint(r.Workers),
			fmt.Sprintf("%.0f", r.Speed), fmt.Sprintf("%.2f", r.OfOne), fmt.Sprintf("%.2f", r.OfMemcpy), share,
		})
	}
	return t
}

// crossoverText says in a line for each from which batch on the other engines are faster.
func (b bulkReport) crossoverText() string {
	var out strings.Builder
	for _, c := range b.Crossovers {
		if c.Pages == nil {
			fmt.Fprintf(&out, "%s, %s: the CPU is faster in every batch up to %s\n", c.Algorithm, c.Operation, plural(b.Batch, "page", "pages"))
			continue
		}
		fmt.Fprintf(&out, "%s, %s: the other engines are faster from %s on (%s)\n", c.Algorithm, c.Operation, plural(*c.Pages, "page", "pages"), humanSize(uint64(*c.Pages)*pageSize))
	}
	return out.String()
}
