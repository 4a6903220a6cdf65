// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
)

// Widths of the columns of the text report, in characters.
const (
	nameWidth  = 37
	unitWidth  = 5
	cellWidth  = 9
	ratioWidth = 7
)

// A quantity is one of the things that a line of the report shows.
type quantity struct {
	get   func(figure) float64
	scale float64 // what a value is multiplied with to be shown; ratios are not
}

// quantities returns what a line shows, in order, and the unit of the first.
func (r *reportRow) quantities() (shown []quantity, unit string) {
	throughput, unit := quantity{func(f figure) float64 { return f.Bytes }, 1e-6}, "MB/s"
	if r.random {
		throughput, unit = quantity{func(f figure) float64 { return f.Requests }, 1}, "IOPS"
	}
	return []quantity{
		throughput,
		{func(f figure) float64 { return f.P50 }, 1},
		{func(f figure) float64 { return f.P99 }, 1},
	}, unit
}

// writeText prints one line a workload: for throughput and both latencies, each
// device's median and their ratio.
func (r *report) writeText(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Linux %s, %d CPUs; %d MiB of real pages (%d different, LZ4 ratio %.2f); median of %d rounds of %gs\n",
		r.Kernel, r.CPUs, r.Size>>20, r.Pages.Count, r.Pages.LZ4, r.Rounds, r.Runtime)
	for _, device := range r.Devices {
		fmt.Fprintf(&text, "%s: %s\n", device.Name, device.What)
	}
	r.renderHeads(&text)
	for _, row := range r.Workload {
		row.render(&text)
	}
	r.renderMemory(&text)
	_, err := out.Write(text.Bytes())
	return err
}

func (r *report) renderHeads(text *bytes.Buffer) {
	group := cellWidth * len(r.Devices)
	if len(r.Devices) == 2 {
		group += ratioWidth
	}
	fmt.Fprintf(text, "\n%*s", nameWidth+unitWidth, "")
	for _, name := range []string{"throughput", "p50 us", "p99 us"} {
		fmt.Fprintf(text, "%*s", group, name)
	}
	fmt.Fprintf(text, "\n%*s", nameWidth+unitWidth, "")
	for range 3 {
		for _, device := range r.Devices {
			fmt.Fprintf(text, "%*s", cellWidth, device.Name)
		}
		if len(r.Devices) == 2 {
			fmt.Fprintf(text, "%*s", ratioWidth, "ratio")
		}
	}
	text.WriteByte('\n')
}

func (r *reportRow) render(text *bytes.Buffer) {
	shown, unit := r.quantities()
	fmt.Fprintf(text, "%-*s%-*s", nameWidth, r.Name, unitWidth, unit)
	for _, quantity := range shown {
		for _, median := range r.Median {
			fmt.Fprintf(text, "%*s", cellWidth, digits(quantity.get(median)*quantity.scale))
		}
		if r.Ratio != nil {
			fmt.Fprintf(text, "%*.2f", ratioWidth, quantity.get(*r.Ratio))
		}
	}
	text.WriteByte('\n')
}

// digits prints three digits, or all of those before the point.
func digits(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// renderMemory shows what the stored data took, after the fill and after writes at
// random had left their holes.
func (r *report) renderMemory(text *bytes.Buffer) {
	for _, device := range r.Devices {
		if device.Filled == nil {
			continue
		}
		fmt.Fprintf(text, "\nmemory of %s: %s after the fill, %s at the end", device.Name, device.Filled, device.Ended)
	}
	text.WriteByte('\n')
}

// String gives the figures that tell what memory is won.
func (m *memoryUse) String() string {
	return fmt.Sprintf("used/compressed %.3f, used/stored %.3f (ratio %.2f)", m.Overhead, m.Cost, m.ratio())
}
