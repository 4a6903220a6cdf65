// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// A workload is one kind of load; all fields are immutable.
type workload struct {
	write  bool
	random bool
	// block is the size of a request in bytes.
	block int
	// depth is how many requests a job keeps in flight: 0 means one at a time by
	// pread(2) or pwrite(2), without io_submit(2).
	depth int
	jobs  int
}

// workloads returns what is measured, in the order of the report.
func workloads() []workload {
	shapes := []workload{
		{block: mebibyte, depth: 4, jobs: 1},
		{random: true, block: 4096, depth: 0, jobs: 1},
		{random: true, block: 4096, depth: 32, jobs: 2},
	}
	var all []workload
	for _, write := range []bool{false, true} {
		for _, shape := range shapes {
			shape.write = write
			all = append(all, shape)
		}
	}
	return all
}

// targets returns a workload's goals, as ratios to kernel zram.
func (w workload) targets() []target {
	switch {
	case !w.random && !w.write:
		return []target{{quantity: throughputRatio, reach: 1.5, stretch: 2.5}}
	case !w.random:
		return []target{{quantity: throughputRatio, reach: 1.0, stretch: 1.3}}
	case w.depth == 0 && !w.write:
		return []target{
			{quantity: medianRatio, less: true, reach: 5, stretch: 3.5},
			{quantity: tailRatio, less: true, reach: 10, stretch: 8},
		}
	case w.depth == 0:
		return []target{{quantity: medianRatio, less: true, reach: 3.5, stretch: 2.5}}
	}
	return []target{{quantity: throughputRatio, reach: 0.4, stretch: 0.6}}
}

// The measures of a target's ratio.
const (
	throughputRatio = "throughput"
	medianRatio     = "p50 time"
	tailRatio       = "p99 time"
)

// of returns the one of a workload's ratios that its target is about.
func (t target) of(ratio figure) float64 {
	switch t.quantity {
	case medianRatio:
		return ratio.P50
	case tailRatio:
		return ratio.P99
	}
	return ratio.Requests
}

// String describes a workload, as in "random write 4 KiB, libaio 2 x 32".
func (w workload) String() string {
	order, direction, engine := "sequential", "read", "psync, depth 1"
	if w.random {
		order = "random"
	}
	if w.write {
		direction = "write"
	}
	if w.depth > 0 {
		engine = fmt.Sprintf("libaio %d x %d", w.jobs, w.depth)
	}
	block := fmt.Sprintf("%d KiB", w.block>>10)
	if w.block >= mebibyte {
		block = fmt.Sprintf("%d MiB", w.block>>20)
	}
	return fmt.Sprintf("%s %s %s, %s", order, direction, block, engine)
}

// A figure is one measurement of one workload on one device.
type figure struct {
	// Bytes and Requests are completed a second.
	Bytes    float64 `json:"bytes_per_second"`
	Requests float64 `json:"requests_per_second"`
	// P50 and P99 are percentiles of the total latency, in microseconds.
	P50 float64 `json:"p50_us"`
	P99 float64 `json:"p99_us"`
	// CPU is the processor time of load, zramfs and kernel, in seconds, for each
	// GiB.
	CPU float64 `json:"cpu_seconds_per_gib"`
	// Spent is the processor time of the whole measurement; medians and ratios have
	// none.
	Spent cpuTime `json:"cpu,omitzero"`
}
