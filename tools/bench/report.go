// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"runtime"
	"strings"

	"golang.org/x/perf/benchmath"
)

// A report is everything that a run found, in the shape of its JSON.
type report struct {
	Kernel   string         `json:"kernel"`
	CPUs     int            `json:"cpus"`
	Size     int64          `json:"size_bytes"`
	Rounds   int            `json:"rounds"`
	Runtime  float64        `json:"runtime_seconds"`
	Pages    reportPages    `json:"pages"`
	WakeUps  wakeUps        `json:"wake_up"`
	Devices  []reportDevice `json:"devices"`
	Workload []reportRow    `json:"workloads"`
	// Targets is empty unless kernel zram was measured too.
	Targets []standing `json:"targets,omitempty"`
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
	// Ratio holds, for every device but kernel zram, the median of the rounds'
	// ratios to kernel zram; it is empty where that was not measured.
	Ratio []figure `json:"ratio_to_zram"`

	random bool
}

func (b *benchmark) report() *report {
	out := &report{
		Kernel: kernelRelease(), CPUs: runtime.NumCPU(), Size: b.size,
		Rounds: b.opts.rounds, Runtime: b.opts.runtime.Seconds(),
		Pages:   reportPages{File: b.pool.path, Count: b.pool.pages(), LZ4: b.pool.lz4},
		WakeUps: b.wakeUps,
	}
	for i, device := range b.devices {
		out.Devices = append(out.Devices, reportDevice{device.name, device.what, b.filled[i], b.ended[i]})
	}
	for i, work := range workloads() {
		row := reportRow{Name: work.String(), Rounds: b.figures[i], random: work.random}
		for _, rounds := range b.figures[i] {
			row.Median = append(row.Median, medianFigure(rounds))
		}
		for d := range b.compared() {
			ratio := ratioFigure(b.figures[i][d], b.figures[i][len(b.devices)-1])
			row.Ratio = append(row.Ratio, ratio)
			for _, goal := range work.targets() {
				out.Targets = append(out.Targets, goal.stand(row.Name, b.devices[d].name, goal.of(ratio)))
			}
		}
		out.Workload = append(out.Workload, row)
	}
	return out
}

// compared returns how many devices, from the first on, are compared with kernel
// zram, which is the last.
func (b *benchmark) compared() int {
	if last := len(b.devices) - 1; b.devices[last].name == zramName {
		return last
	}
	return 0
}

func kernelRelease() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// writeJSON prints a report.
func writeJSON(out io.Writer, report any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// medianFigure returns the median of each quantity.
func medianFigure(rounds []figure) figure {
	return combine(func(get func(figure) float64) float64 { return medianOf(rounds, get) })
}

// ratioFigure returns, for each quantity, the median of the ratios of the rounds.
func ratioFigure(first, second []figure) figure {
	return combine(func(get func(figure) float64) float64 { return ratioOf(first, second, get) })
}

// medianOf returns the median of one quantity over the rounds.
func medianOf[F any](rounds []F, get func(F) float64) float64 {
	return summaryOf(rounds, get).Center
}

// summaryOf returns the median of one quantity over the rounds, with the interval that has the true
// median in it in 95 of 100 runs. It takes six rounds to have one.
func summaryOf[F any](rounds []F, get func(F) float64) benchmath.Summary {
	var values []float64
	for _, one := range rounds {
		values = append(values, get(one))
	}
	return summary(values)
}

// leastFigure is the smallest figure that a ratio is made of. Every unit of a report has larger
// figures; a smaller one is the rest of a subtraction of processor times, which the kernel counts
// in hundredths of a second.
const leastFigure = 1e-6

// ratioOf returns the median of the ratios of the rounds, so that a slow minute of the machine
// cancels out. It is 0, for unknown, where a round has nothing to divide by, or a figure below
// zero.
func ratioOf[F any](first, second []F, get func(F) float64) float64 {
	var values []float64
	for i := range first {
		dividend, divisor := get(first[i]), get(second[i])
		if divisor < leastFigure || dividend < 0 {
			return 0
		}
		values = append(values, dividend/divisor)
	}
	return summary(values).Center
}

// combine makes a figure of what of returns for each quantity.
func combine(of func(get func(figure) float64) float64) figure {
	return figure{
		Bytes:    of(func(f figure) float64 { return f.Bytes }),
		Requests: of(func(f figure) float64 { return f.Requests }),
		P50:      of(func(f figure) float64 { return f.P50 }),
		P99:      of(func(f figure) float64 { return f.P99 }),
		CPU:      of(func(f figure) float64 { return f.CPU }),
	}
}

func summary(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), 0.95)
}

// interval shows how wide the interval of a median is, or nothing where the rounds were too few.
func interval(s benchmath.Summary) string {
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return ""
	}
	return " ±" + s.PctRangeString()
}
