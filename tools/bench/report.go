// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// A report is everything that a run found, in the shape of its JSON.
type report struct {
	Kernel   string         `json:"kernel"`
	CPUs     int            `json:"cpus"`
	Size     int64          `json:"size_bytes"`
	Rounds   int            `json:"rounds"`
	Runtime  float64        `json:"runtime_seconds"`
	Pages    reportPages    `json:"pages"`
	Devices  []reportDevice `json:"devices"`
	Workload []reportRow    `json:"workloads"`
}

type reportPages struct {
	File  string  `json:"file"`
	Count int     `json:"count"`
	LZ4   float64 `json:"lz4_ratio"`
}

type reportDevice struct {
	Name   string     `json:"name"`
	What   string     `json:"what"`
	Filled *memoryUse `json:"memory_after_fill"`
	Ended  *memoryUse `json:"memory_at_end"`
}

// A reportRow is one workload. Rounds and Median are by device.
type reportRow struct {
	Name   string     `json:"name"`
	Rounds [][]figure `json:"rounds"`
	Median []figure   `json:"median"`
	// Ratio is the first device over the second, the median of the rounds' ratios;
	// nil when there is one device.
	Ratio *figure `json:"ratio"`

	random bool
}

func (b *benchmark) report() *report {
	out := &report{
		Kernel: kernelRelease(), CPUs: runtime.NumCPU(), Size: b.size,
		Rounds: b.opts.rounds, Runtime: b.opts.runtime.Seconds(),
		Pages: reportPages{File: b.pool.path, Count: b.pool.pages(), LZ4: b.pool.lz4},
	}
	for i, device := range b.devices {
		out.Devices = append(out.Devices, reportDevice{device.name, device.what, b.filled[i], b.ended[i]})
	}
	for i, work := range workloads() {
		row := reportRow{Name: work.String(), Rounds: b.figures[i], random: work.random}
		for _, rounds := range b.figures[i] {
			row.Median = append(row.Median, medianFigure(rounds))
		}
		if len(b.devices) == 2 {
			ratio := ratioFigure(b.figures[i][0], b.figures[i][1])
			row.Ratio = &ratio
		}
		out.Workload = append(out.Workload, row)
	}
	return out
}

func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func (r *report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// medianFigure returns the median of each quantity.
func medianFigure(rounds []figure) figure {
	return combine(func(get func(figure) float64) float64 {
		var values []float64
		for _, one := range rounds {
			values = append(values, get(one))
		}
		return median(values)
	})
}

// ratioFigure returns, for each quantity, the median of the ratios of the rounds.
func ratioFigure(first, second []figure) figure {
	return combine(func(get func(figure) float64) float64 {
		var values []float64
		for i := range first {
			values = append(values, get(first[i])/get(second[i]))
		}
		return median(values)
	})
}

// combine makes a figure of what of returns for each quantity.
func combine(of func(get func(figure) float64) float64) figure {
	return figure{
		Bytes:    of(func(f figure) float64 { return f.Bytes }),
		Requests: of(func(f figure) float64 { return f.Requests }),
		P50:      of(func(f figure) float64 { return f.P50 }),
		P99:      of(func(f figure) float64 { return f.P99 }),
	}
}

// median returns the middle value, or the mean of the two in the middle; the
// values are sorted in place and there must be one.
func median(values []float64) float64 {
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
