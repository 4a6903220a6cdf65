// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// storeTargets are the goals of the memory at the end of a phase, as ratios to kernel zram's.
var storeTargets = map[string]target{
	phaseFill: {quantity: "memory", less: true, reach: 0.60},
	phaseIdle: {quantity: "memory", less: true, reach: 0.50},
}

// slackTargets are those of the memory without processes, as a ratio to the compressed bytes.
var slackTargets = map[string]float64{phaseChurn: 1.10, phaseFree: 1.25}

func (b *storeBenchmark) writeText(out io.Writer) error {
	fmt.Fprintf(out, "%s of real pages, the same on each device; everything counted: objects, index or table, processes\n\n", term.Size(uint64(b.opts.size)))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\tat\t")
	for _, f := range b.figures {
		fmt.Fprintf(table, "%s\tB a page\tof compressed\t", f.Name)
	}
	fmt.Fprintln(table, "ratio\t")
	last := b.figures[len(b.figures)-1]
	for n, phase := range b.figures[0].Phases {
		fmt.Fprintf(table, "%s\t%.0f s\t", phase.Name, phase.End.At)
		for _, f := range b.figures {
			p := f.Phases[n].End
			fmt.Fprintf(table, "%s\t%.0f\t%.2f\t", term.Size(p.Memory), p.perPage(), quotient(p.Used, p.Compressed))
		}
		ratio := quotient(phase.End.Memory, last.Phases[n].End.Memory)
		fmt.Fprintf(table, "%.2f\t", ratio)
		if t, ok := storeTargets[phase.Name]; ok && len(b.figures) > 1 {
			fmt.Fprintf(table, "%s %s\t", t.bound(t.reach), t.verdict(ratio))
		}
		if most, ok := slackTargets[phase.Name]; ok {
			p := b.figures[0].Phases[n].End
			t := target{quantity: "of compressed", less: true, reach: most}
			fmt.Fprintf(table, "%s %s of compressed\t", t.bound(most), t.verdict(quotient(p.Used, p.Compressed)))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nkernel zram with zstd, level 3, would take %.0f B a page at the least, by the sizes of its objects and its table: idle, %s takes %.2f of it (<= 0.75)\n",
		b.zstd, b.figures[0].Name, b.figures[0].Phases[1].End.perPage()/b.zstd)
	fmt.Fprintln(out, "\none page at a time, us:")
	table = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tat rest: read p50\tp99\twrite p50\tp99\tpacking: read p50\tp99\twrite p50\tp99\t")
	for _, f := range b.figures {
		fmt.Fprintf(table, "%s\t", f.Name)
		for _, l := range []figure{f.AtRest.Read, f.AtRest.Write, f.Busy.Read, f.Busy.Write} {
			fmt.Fprintf(table, "%.1f\t%.1f\t", l.P50, l.P99)
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, f := range b.figures {
		fmt.Fprintf(out, "%s: %s\n", f.Name, f.What)
	}
	return nil
}

// The picture's measures, in pixels.
const (
	plotWidth, plotHeight = 900, 420
	plotLeft, plotRight   = 70, 20
	plotTop, plotBottom   = 40, 50
)

// plotColours are those of the lines, the first contestant's first.
var plotColours = []string{"#1f6feb", "#8250df", "#bf3989", "#6e7781"}

// plotStore draws the memory of a stored page over time as SVG.
func plotStore(figures []storeFigure) string {
	longest, most := 1.0, 1.0
	for _, f := range figures {
		for _, p := range f.Points {
			longest = max(longest, p.At)
			if p.Stored > 0 && p.At >= f.Phases[0].End.At-2 { // a device that is nearly empty is all processes
				most = max(most, p.perPage())
			}
		}
	}
	most *= 1.05
	x := func(at float64) float64 { return plotLeft + at/longest*(plotWidth-plotLeft-plotRight) }
	y := func(bytes float64) float64 {
		return plotHeight - plotBottom - min(bytes/most, 1)*(plotHeight-plotTop-plotBottom)
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&s, `<text x="%d" y="22" font-size="15">Memory of a stored page of 4,096 bytes, everything counted</text>`+"\n", plotLeft)
	for step := 0.0; step < most; step += 200 {
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#d8dee4"/><text x="%d" y="%.1f" text-anchor="end">%.0f B</text>`+"\n",
			plotLeft, y(step), plotWidth-plotRight, plotLeft-6, y(step)+4, step)
	}
	begins := 0.0
	for _, phase := range figures[0].Phases {
		end := x(phase.End.At)
		fmt.Fprintf(&s, `<path d="M%.1f %dV%d" stroke="#afb8c1" stroke-dasharray="3 3"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			end, plotTop, plotHeight-plotBottom, (x(begins)+end)/2, plotHeight-plotBottom+18+14*(len(phase.Name)%2), phase.Name)
		begins = phase.End.At
	}
	for i, f := range figures {
		var path strings.Builder
		for _, p := range f.Points {
			if p.Stored > 0 {
				fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[path.Len() == 0], x(p.At), y(p.perPage()))
			}
		}
		colour := plotColours[i%len(plotColours)]
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
		end := f.Points[len(f.Points)-1]
		fmt.Fprintf(&s, `<text x="%d" y="%.1f" text-anchor="end" fill="%s">%s</text>`+"\n", plotWidth-plotRight-4, y(end.perPage())-6, colour, f.Name)
	}
	fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end">%.0f s</text>`+"\n</svg>\n", plotWidth-plotRight, plotHeight-6, longest)
	return s.String()
}
