// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
)

// Widths of the columns of the text report, in characters.
const (
	nameWidth   = 37
	deviceWidth = 10
	unitWidth   = 4
	cellWidth   = 12
	ratioWidth  = 8
)

// A quantity is one of the things that a line of the report shows.
type quantity struct {
	head  string
	get   func(figure) float64
	scale float64 // what a value is multiplied with to be shown; ratios are not
}

// quantities returns what a line shows, in order, and the unit of the first.
func (r *reportRow) quantities() (shown []quantity, unit string) {
	throughput, unit := quantity{"throughput", func(f figure) float64 { return f.Bytes }, 1e-6}, "MB/s"
	if r.random {
		throughput, unit = quantity{"throughput", func(f figure) float64 { return f.Requests }, 1}, "IOPS"
	}
	return []quantity{
		throughput,
		{"p50 us", func(f figure) float64 { return f.P50 }, 1},
		{"p99 us", func(f figure) float64 { return f.P99 }, 1},
		{"CPU s/GiB", func(f figure) float64 { return f.CPU }, 1},
	}, unit
}

// writeText prints a line for each workload and device: medians with their intervals, and behind
// each its ratio to kernel zram. The targets follow.
func (r *report) writeText(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Linux %s, %d CPUs; %d MiB of real pages (%d different, LZ4 ratio %.2f); median of %d rounds of %gs\n",
		r.Kernel, r.CPUs, r.Size>>20, r.Pages.Count, r.Pages.LZ4, r.Rounds, r.Runtime)
	for _, device := range r.Devices {
		fmt.Fprintf(&text, "%s: %s\n", device.Name, device.What)
	}
	r.WakeUps.render(&text)
	r.renderHeads(&text)
	for _, row := range r.Workload {
		row.render(&text, r.Devices)
	}
	r.renderMemory(&text)
	renderTargets(&text, r.Targets)
	_, err := out.Write(text.Bytes())
	return err
}

func (r *report) renderHeads(text *bytes.Buffer) {
	fmt.Fprintf(text, "\n%*s", nameWidth+deviceWidth+unitWidth, "")
	shown, _ := (&reportRow{}).quantities()
	for _, quantity := range shown {
		fmt.Fprintf(text, "%*s", cellWidth, quantity.head)
		if len(r.Targets) > 0 {
			fmt.Fprintf(text, "%*s", ratioWidth, "to zram")
		}
	}
	text.WriteByte('\n')
}

func (r *reportRow) render(text *bytes.Buffer, devices []reportDevice) {
	shown, unit := r.quantities()
	name := r.Name
	for d, device := range devices {
		fmt.Fprintf(text, "%-*s%-*s%-*s", nameWidth, name, deviceWidth, device.Name, unitWidth, unit)
		name = ""
		for i, quantity := range shown {
			one := summaryOf(r.Rounds[d], quantity.get)
			fmt.Fprintf(text, " %*s", cellWidth-1, digits(one.Center*quantity.scale)+interval(one))
			switch {
			case d < len(r.Ratio):
				fmt.Fprintf(text, "%*s", ratioWidth, times(quantity.get(r.Ratio[d])))
			case len(r.Ratio) > 0 && i+1 < len(shown):
				fmt.Fprintf(text, "%*s", ratioWidth, "")
			}
		}
		text.WriteByte('\n')
	}
}

// renderTargets prints how each contestant stands to its target, or nothing where the run measured
// nothing to compare with.
func renderTargets(text *bytes.Buffer, all []standing) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(text, "\n%-*s%-*s%-12s%*s%*s%*s\n", nameWidth, "beside kernel zram, lz4", deviceWidth, "",
		"ratio of", cellWidth, "ratio", cellWidth, "to reach", cellWidth, "stretch")
	measure := ""
	for _, one := range all {
		name := one.Measure
		if name == measure {
			name = ""
		}
		measure = one.Measure
		fmt.Fprintf(text, "%-*s%-*s%-12s%*s%*s%*s  %s\n", nameWidth, name, deviceWidth, one.Device, one.Quantity,
			cellWidth, times(one.Ratio), cellWidth, one.target.bound(one.Reach), cellWidth, one.target.bound(one.Stretch), one.Verdict)
	}
}

// times prints a ratio; 0 stands for an unknown ratio.
func times(ratio float64) string {
	if ratio == 0 {
		return verdictNone
	}
	return digits(ratio) + "x"
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
