// SPDX-License-Identifier: Apache-2.0

package main

import "runtime"

// A swapReport is everything that a run with swap found, in the shape of its JSON.
type swapReport struct {
	Kernel  string        `json:"kernel"`
	CPUs    int           `json:"cpus"`
	Limit   int64         `json:"limit_bytes"`
	Filled  int64         `json:"filled_bytes"`
	Size    int64         `json:"size_bytes"`
	Rounds  int           `json:"rounds"`
	Touches int           `json:"touches"`
	Work    string        `json:"workload"`
	LoadCPU *int          `json:"load_cpu,omitempty"` // its only one
	Pages   reportPages   `json:"pages"`
	WakeUps wakeUps       `json:"wake_up"`
	Cluster []int         `json:"page_clusters"`
	Devices []swapDevice  `json:"devices"`
	Measure []swapSummary `json:"measures"`
	// Targets is empty unless kernel zram was measured too.
	Targets []standing `json:"targets,omitempty"`
}

// A swapDevice is a subject. Rounds is by page cluster.
type swapDevice struct {
	Name   string         `json:"name"`
	What   string         `json:"what"`
	Rounds [][]swapFigure `json:"rounds"`
}

// A swapSummary is one measure.
type swapSummary struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Median is by device and page cluster, Best the index of each device's best page cluster for
	// the phase that the measure is of.
	Median [][]float64 `json:"median"`
	Best   []int       `json:"best"`
	// Interval is that of each median as it is printed, empty where the rounds were too few.
	Interval [][]string `json:"interval"`
	// Ratio is, by device but kernel zram, the median of the rounds' ratios to kernel zram, each
	// device at its best page cluster.
	Ratio []float64 `json:"ratio_to_zram"`
}

func (b *swapBenchmark) report(pages reportPages) *swapReport {
	out := &swapReport{
		Kernel: kernelRelease(), CPUs: runtime.NumCPU(), Limit: b.opts.limit,
		Filled: b.opts.limit * int64(b.opts.times), Size: b.opts.size,
		Rounds: b.opts.rounds, Touches: b.opts.touches, Work: b.opts.workload, Pages: pages,
		WakeUps: b.wakeUps, Cluster: b.opts.clusters,
	}
	if b.opts.loadCPU != anyCPU {
		out.LoadCPU = &b.opts.loadCPU
	}
	for i, one := range b.subjects {
		out.Devices = append(out.Devices, swapDevice{one.name, b.what[one.name], b.figures[i]})
	}
	for _, measure := range swapMeasures(b.opts.times) {
		row := b.summarise(measure)
		for i, ratio := range row.Ratio {
			if measure.target != (target{}) {
				out.Targets = append(out.Targets, measure.target.stand(measure.name, b.subjects[i].name, ratio))
			}
		}
		out.Measure = append(out.Measure, row)
	}
	return out
}

// summarise works out one measure of all subjects.
func (b *swapBenchmark) summarise(measure swapMeasure) swapSummary {
	row := swapSummary{Name: measure.name, Unit: measure.unit}
	for i := range b.subjects {
		var medians []float64
		var intervals []string
		for _, rounds := range b.figures[i] {
			one := summaryOf(rounds, measure.get)
			medians, intervals = append(medians, one.Center), append(intervals, interval(one))
		}
		row.Median, row.Interval = append(row.Median, medians), append(row.Interval, intervals)
		row.Best = append(row.Best, measure.by.best(b.figures[i]))
	}
	last := len(b.subjects) - 1
	if b.subjects[last].name != zramName {
		return row
	}
	anchor := b.figures[last][row.Best[last]]
	for i := range last {
		row.Ratio = append(row.Ratio, ratioOf(b.figures[i][row.Best[i]], anchor, measure.get))
	}
	return row
}
