// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/zramfs/zramfs/internal/term"
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

// plotStore draws the memory of devices over time as SVG.
func plotStore(figures []storeFigure) string {
	longest, most := 1.0, 1.0
	for _, f := range figures {
		for _, p := range f.Points {
			longest, most = max(longest, p.At), max(most, float64(p.Memory))
		}
	}
	most *= 1.05
	x := func(at float64) float64 { return plotLeft + at/longest*(plotWidth-plotLeft-plotRight) }
	y := func(bytes float64) float64 {
		return plotHeight - plotBottom - bytes/most*(plotHeight-plotTop-plotBottom)
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&s, `<text x="%d" y="22" font-size="15">Memory for the same pages, everything counted, over %.0f s</text>`+"\n", plotLeft, longest)
	for step, line := plotStep(most), 0.0; line < most; line += step {
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#d8dee4"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			plotLeft, y(line), plotWidth-plotRight, plotLeft-6, y(line)+4, term.Size(uint64(line)))
	}
	begins := 0.0
	for n, phase := range figures[0].Phases {
		fmt.Fprintf(&s, `<path d="M%.1f %dV%d" stroke="#afb8c1" stroke-dasharray="3 3"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(phase.End.At), plotTop, plotHeight-plotBottom, min(x((begins+phase.End.At)/2), plotWidth-40), plotHeight-plotBottom+18+14*(n%2), phase.Name)
		begins = phase.End.At
	}
	for i, f := range figures {
		var path strings.Builder
		last := len(f.Points) - 1
		for n, p := range f.Points {
			if n > 0 && n < last && f.Points[n-1].Memory == p.Memory && f.Points[n+1].Memory == p.Memory {
				continue
			}
			command := "L"
			if n == 0 {
				command = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, x(p.At), y(float64(p.Memory)))
		}
		colour, middle := plotColours[i%len(plotColours)], f.Points[last/2]
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
		fmt.Fprintf(&s, `<text x="%.1f" y="%.1f" text-anchor="end" fill="%s">%s</text>`+"\n", x(middle.At), y(float64(middle.Memory))-6, colour, f.Name)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// plotStep is the distance of horizontal lines, in bytes: a power of two.
func plotStep(most float64) float64 {
	step := 1.0
	for most/step > 8 {
		step *= 2
	}
	return step
}
