// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

// A topColumn is a column of top --batch. Its unit is in its name.
type topColumn struct {
	name  string
	width int
	help  string
	value func(monitor.Point) string
}

// noFigure stands for a figure that is not known.
const noFigure = "-"

var topColumns = []topColumn{
	{"time", 8, "of the line, in the local zone", func(p monitor.Point) string { return p.Time.Local().Format(time.TimeOnly) }},
	{"used_MiB", 8, "of its swap areas, by programs", func(p monitor.Point) string { return swapFigure(p, mebibytes(int64(p.SwapUsed))) }},
	{"used_%", 6, "share of the swap areas", func(p monitor.Point) string {
		return swapFigure(p, fixed(100*float64(p.SwapUsed)/float64(p.SwapSize), 1))
	}},
	{"mem_MiB", 8, "memory of the device, without its processes", answered(func(p monitor.Point) string { return mebibytes(int64(p.Memory)) })},
	{"zswap_MiB", 9, "pages of it in zswap, uncompressed", answered(func(p monitor.Point) string { return mebibytes(int64(p.InZswap)) })},
	{"zmem_MiB", 8, "memory that zswap takes for them", answered(func(p monitor.Point) string { return mebibytes(int64(p.Zswap)) })},
	{"ratio", 6, "data for each byte of both memories", answered(func(p monitor.Point) string { return fixed(p.Ratio, 2) })},
	{"saved_MiB", 9, "in swap, less the memory of device, processes and zswap", answered(func(p monitor.Point) string { return mebibytes(p.Saved) })},
	{"zin/s", 7, "pages a second from zswap, of all swap of the machine, as by page faults", rate(func(p monitor.Point) float64 { return p.ZswapIn })},
	{"in/s", 7, "pages a second from the device, as by page faults", rate(func(p monitor.Point) float64 { return p.In.Pages })},
	{"in_p50_us", 9, "median time of such a request in the device", latency(func(p monitor.Point) int64 { return p.In.P50 })},
	{"in_p99_us", 9, "its 99th percentile", latency(func(p monitor.Point) int64 { return p.In.P99 })},
	{"in_loop_us", 10, "mean time of such a request at the loop device, the kernel's way to the device and back included", splitLoop(func(p monitor.Point) swapdev.Split { return p.ReadTime })},
	{"in_ours_%", 9, "the device's part of that time", splitShare(func(p monitor.Point) swapdev.Split { return p.ReadTime })},
	{"out/s", 7, "pages a second to the device", rate(func(p monitor.Point) float64 { return p.Out.Pages })},
	{"out_p50_us", 10, "median time of such a request", latency(func(p monitor.Point) int64 { return p.Out.P50 })},
	{"out_p99_us", 10, "its 99th percentile", latency(func(p monitor.Point) int64 { return p.Out.P99 })},
	{"free/s", 7, "pages a second that the kernel gives back", rate(func(p monitor.Point) float64 { return p.Discards })},
	{"cpu_%", 6, "processor time of its processes, 100 for one processor", func(p monitor.Point) string { return optional(p.CPU, 100) }},
	{"some_%", 6, "memory pressure of the machine over 10 seconds", func(p monitor.Point) string { return optional(p.PressureSome, 1) }},
	{"errors", 6, "since the device was made", answered(func(p monitor.Point) string { return strconv.FormatUint(p.Errors(), 10) })},
	{"restarts", 8, "of the worker", answered(func(p monitor.Point) string { return strconv.Itoa(p.Restarts) })},
	{"state", 8, "healthy, degraded, or why there is no answer", stateOf},
	{"dir", 0, "the device", func(p monitor.Point) string { return term.Printable(p.Dir) }},
}

// stateOf is the health of a device that answers, and why another does not.
func stateOf(p monitor.Point) string {
	if p.Answered() {
		return p.Health
	}
	return p.Answer
}

// answered is a figure that only a device which answers has.
func answered(f func(monitor.Point) string) func(monitor.Point) string {
	return func(p monitor.Point) string {
		if !p.Answered() {
			return noFigure
		}
		return f(p)
	}
}

// swapFigure is a figure that only swap devices have.
func swapFigure(p monitor.Point, text string) string {
	if p.SwapSize == 0 {
		return noFigure
	}
	return text
}

// rate is a number for each second.
func rate(f func(monitor.Point) float64) func(monitor.Point) string {
	return func(p monitor.Point) string {
		if p.Seconds == 0 {
			return noFigure
		}
		return fixed(f(p), 0)
	}
}

// latency is a time in nanoseconds, printed in microseconds; 0 stands for no request.
func latency(f func(monitor.Point) int64) func(monitor.Point) string {
	return func(p monitor.Point) string {
		if f(p) == 0 {
			return noFigure
		}
		return fixed(float64(f(p))/1000, 1)
	}
}

// splitLoop is the time of a request at the loop device.
func splitLoop(f func(monitor.Point) swapdev.Split) func(monitor.Point) string {
	return latency(func(p monitor.Point) int64 { return f(p).Loop })
}

// splitShare is the device's part of that time.
func splitShare(f func(monitor.Point) swapdev.Split) func(monitor.Point) string {
	return func(p monitor.Point) string {
		share, known := f(p).Share()
		if !known {
			return noFigure
		}
		return fixed(100*share, 1)
	}
}

func mebibytes(n int64) string { return fixed(float64(n)/(1<<20), 1) }

// optional prints a figure that may be unknown.
func optional(value *float64, scale float64) string {
	if value == nil {
		return noFigure
	}
	return fixed(*value*scale, 1)
}

func fixed(value float64, decimals int) string {
	return strconv.FormatFloat(value, 'f', decimals, 64)
}

// lineText is a line of stats.
func lineText(cell func(topColumn) string) string {
	cells := make([]string, len(topColumns))
	for i, c := range topColumns {
		cells[i] = fmt.Sprintf("%*s", c.width, cell(c))
	}
	return strings.Join(cells, " ") + "\n"
}

func topColumnHelp() string {
	var out strings.Builder
	for _, c := range topColumns {
		fmt.Fprintf(&out, "%-10s %s\n", c.name, c.help)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
