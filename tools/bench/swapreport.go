// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
)

// A swapMeasure is a line of the report.
type swapMeasure struct {
	name, unit string
	get        func(swapFigure) float64
	target     target // the zero target where there is none
}

// swapMeasures returns the lines of the report.
func swapMeasures(times int) []swapMeasure {
	memory := target{quantity: "memory", less: true, reach: 0.75, stretch: 0.65}
	return []swapMeasure{
		{"memory for the same work, filled", "MiB", func(f swapFigure) float64 { return f.TakenFill }, memory},
		{"  walked", "MiB", func(f swapFigure) float64 { return f.TakenWalk }, memory},
		{"  touched at random", "MiB", func(f swapFigure) float64 { return f.TakenTouch }, memory},
		{fmt.Sprintf("fill %dx the limit", times), "MB/s", func(f swapFigure) float64 { return f.Fill },
			target{quantity: throughputRatio, reach: 1.0, stretch: 1.2}},
		{"walk it in order", "MB/s", func(f swapFigure) float64 { return f.Walk },
			target{quantity: throughputRatio, reach: 0.65, stretch: 1.0}},
		{"touch it at random, mean", "us", func(f swapFigure) float64 { return f.Touch },
			target{quantity: "time", less: true, stretch: 3.5}},
		{"touch it at random, p50", "us", func(f swapFigure) float64 { return f.TouchP50 }, target{}},
		{"touch it at random, p99", "us", func(f swapFigure) float64 { return f.TouchP99 }, target{}},
		{"CPU a GiB swapped out or in", "s", func(f swapFigure) float64 { return f.CPU },
			target{quantity: "CPU time", less: true, reach: 2, stretch: 1.5}},
		{"  of it the load and its reclaim", "s", func(f swapFigure) float64 { return f.share(f.Spent.Load) }, target{}},
		{"  of it zramfs", "s", func(f swapFigure) float64 { return f.share(f.Spent.Server) }, target{}},
		{"  of it threads of the kernel", "s", func(f swapFigure) float64 { return f.share(f.Spent.Kernel) }, target{}},
		{"CPU of the fill", "s", func(f swapFigure) float64 { return f.FillCPU.own() }, target{}},
		{"CPU of the walk", "s", func(f swapFigure) float64 { return f.WalkCPU.own() }, target{}},
		{"CPU of a touch that waited", "us", func(f swapFigure) float64 { return f.TouchCPU }, target{}},
		{"CPU of others meanwhile", "s", func(f swapFigure) float64 { return f.Spent.Machine - f.Spent.own() }, target{}},
		{"swapped out by fill and walk", "GiB", func(f swapFigure) float64 { return f.Out }, target{}},
		{"swapped in by fill and walk", "GiB", func(f swapFigure) float64 { return f.In }, target{}},
		{"memory a stored byte takes", "", func(f swapFigure) float64 { return f.Memory }, target{}},
	}
}

// A swapReport is everything that a run with swap found, in the shape of its JSON.
type swapReport struct {
	Kernel  string        `json:"kernel"`
	CPUs    int           `json:"cpus"`
	Limit   int64         `json:"limit_bytes"`
	Filled  int64         `json:"filled_bytes"`
	Size    int64         `json:"size_bytes"`
	Rounds  int           `json:"rounds"`
	Touches int           `json:"touches"`
	LoadCPU *int          `json:"load_cpu,omitempty"` // its only one
	Pages   reportPages   `json:"pages"`
	Devices []swapDevice  `json:"devices"`
	Measure []swapSummary `json:"measures"`
	// Targets is empty unless kernel zram was measured too.
	Targets []standing `json:"targets,omitempty"`
}

type swapDevice struct {
	Name    string       `json:"name"`
	What    string       `json:"what"`
	Cluster int          `json:"page_cluster"`
	Rounds  []swapFigure `json:"rounds"`
}

// A swapSummary is one measure. Median is by device, Ratio by device but kernel zram.
type swapSummary struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Median []float64 `json:"median"`
	// Ratio is the median of the rounds' ratios to kernel zram.
	Ratio []float64 `json:"ratio_to_zram"`
}

func (b *swapBenchmark) report(pages reportPages) *swapReport {
	out := &swapReport{
		Kernel: kernelRelease(), CPUs: runtime.NumCPU(), Limit: b.opts.limit,
		Filled: b.opts.limit * int64(b.opts.times), Size: b.opts.size,
		Rounds: b.opts.rounds, Touches: b.opts.touches, Pages: pages,
	}
	if b.opts.loadCPU != anyCPU {
		out.LoadCPU = &b.opts.loadCPU
	}
	for i, one := range b.subjects {
		out.Devices = append(out.Devices, swapDevice{one.name, b.what[one.name], one.cluster, b.figures[i]})
	}
	last := len(b.subjects) - 1
	for _, measure := range swapMeasures(b.opts.times) {
		row := swapSummary{Name: measure.name, Unit: measure.unit}
		for i, one := range b.subjects {
			row.Median = append(row.Median, medianOf(b.figures[i], measure.get))
			if i == last || b.subjects[last].name != zramName {
				continue
			}
			ratio := ratioOf(b.figures[i], b.figures[last], measure.get)
			row.Ratio = append(row.Ratio, ratio)
			if measure.target != (target{}) {
				out.Targets = append(out.Targets, measure.target.stand(measure.name, one.name, ratio))
			}
		}
		out.Measure = append(out.Measure, row)
	}
	return out
}

// writeText prints a line for each measure, with each device's median and its ratio
// to kernel zram. The targets follow.
func (r *swapReport) writeText(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Linux %s, %d CPUs; %d MiB of real pages (%d different, LZ4 ratio %.2f) in a limit of %d MiB; %d touches; median of %d rounds\n",
		r.Kernel, r.CPUs, r.Filled>>20, r.Pages.Count, r.Pages.LZ4, r.Limit>>20, r.Touches, r.Rounds)
	if r.LoadCPU != nil {
		fmt.Fprintf(&text, "the load runs on CPU %d only\n", *r.LoadCPU)
	}
	for _, device := range r.Devices {
		fmt.Fprintf(&text, "%s: %s, %d MiB, vm.page-cluster %d\n", device.Name, device.What, r.Size>>20, device.Cluster)
	}
	fmt.Fprintf(&text, "\n%*s", nameWidth+unitWidth, "")
	for i, device := range r.Devices {
		fmt.Fprintf(&text, "%*s", cellWidth, device.Name)
		if i < len(r.Measure[0].Ratio) {
			fmt.Fprintf(&text, "%*s", ratioWidth, "to zram")
		}
	}
	text.WriteByte('\n')
	for _, row := range r.Measure {
		fmt.Fprintf(&text, "%-*s%-*s", nameWidth, row.Name, unitWidth, row.Unit)
		for i, median := range row.Median {
			fmt.Fprintf(&text, "%*s", cellWidth, digits(median))
			if i < len(row.Ratio) {
				fmt.Fprintf(&text, "%*s", ratioWidth, times(row.Ratio[i]))
			}
		}
		text.WriteByte('\n')
	}
	renderTargets(&text, r.Targets)
	_, err := out.Write(text.Bytes())
	return err
}
