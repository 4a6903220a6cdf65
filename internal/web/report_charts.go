// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/term"
)

// A line is a series of a report's chart.
type line struct {
	name, class string
	of          func(r chronicle.Row) float64
}

func field(f chronicle.Field, factor float64) func(chronicle.Row) float64 {
	return func(r chronicle.Row) float64 { return float64(r.Values[f]) * factor }
}

// taken is the memory of store and processes.
func taken(r chronicle.Row) float64 {
	return float64(r.Values[chronicle.Memory]) + float64(r.Values[chronicle.Processes])
}

// reportCharts are the charts of a report.
var reportCharts = []struct {
	title string
	words func(v float64) string
	lines []line
}{
	{"Stored, taken and saved", sizeWords, []line{{"stored", "a", field(chronicle.Stored, 1)}, {"taken", "b", taken}, {"saved", "c", field(chronicle.Saved, 1)}}},
	{"Compression ratio", ratioWords, []line{{"ratio", "a", func(r chronicle.Row) float64 { return float64(r.Values[chronicle.Stored] / r.Values[chronicle.Memory]) }}}},
	{"Swap used", sizeWords, []line{{"used", "a", field(chronicle.SwapUsed, 1)}, {"size", "b", field(chronicle.SwapSize, 1)}}},
	{"Throughput a second", sizeWords, []line{{"in", "a", field(chronicle.PagesIn, 4096)}, {"out", "b", field(chronicle.PagesOut, 4096)}}},
	{"Latency, p99", timeWords, []line{{"read", "a", field(chronicle.ReadP99, 1)}, {"write", "b", field(chronicle.WriteP99, 1)}}},
	{"Processor and pressure", shareWords, []line{{"processor", "a", field(chronicle.CPU, 100)}, {"pressure", "b", field(chronicle.Pressure, 1)}}},
}

func sizeWords(v float64) string  { return term.Size(uint64(max(v, 0))) }
func ratioWords(v float64) string { return fmt.Sprintf("%.2f", v) }
func shareWords(v float64) string { return fmt.Sprintf("%.1f %%", v) }
func timeWords(v float64) string  { return time.Duration(v * 1e9).Round(time.Microsecond).String() }

// The size of a report's chart.
const (
	chartWidth  = 560
	chartHeight = 150
)

// writeCharts draws the history of a device: of 24 hours, or of 3 where it has no more.
func writeCharts(b *strings.Builder, c *chronicle.Chronicle, name string, now time.Time) {
	rows, step := c.Rows(name, now, 24*time.Hour)
	if len(rows) == 0 || rows[0].Time.After(now.Add(-3*time.Hour)) {
		rows, step = c.Rows(name, now, 3*time.Hour)
	}
	if len(rows) < 2 {
		b.WriteString("<p>There is no history: zramfs serve keeps one while it runs.</p>\n")
		return
	}
	b.WriteString("<div class=\"charts\">\n")
	for _, chart := range reportCharts {
		most := 0.0
		for _, r := range rows {
			for _, l := range chart.lines {
				if v := l.of(r); v > most && !math.IsInf(v, 0) {
					most = v
				}
			}
		}
		if most == 0 { // no swap, or nothing happened
			continue
		}
		fmt.Fprintf(b, "<figure><figcaption><b>%s</b>", chart.title)
		for _, l := range chart.lines {
			fmt.Fprintf(b, " <span class=\"%s\">%s</span>", l.class, l.name)
		}
		fmt.Fprintf(b, " most %s</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s, at most %s\">",
			chart.words(most), chartWidth, chartHeight, chart.title, chart.words(most))
		for _, l := range chart.lines {
			fmt.Fprintf(b, "<path class=\"%s\" d=\"%s\"/>", l.class, outline(rows, l.of, most, step))
		}
		b.WriteString("</svg></figure>\n")
	}
	fmt.Fprintf(b, "</div><p>From %s to %s.</p>\n", rows[0].Time.Format(time.RFC1123Z), rows[len(rows)-1].Time.Format(time.RFC1123Z))
}

// outline is the path of a line; unknown values and missing rows are gaps.
func outline(rows []chronicle.Row, of func(chronicle.Row) float64, most float64, step time.Duration) string {
	var d strings.Builder
	first, last := rows[0].Time, rows[len(rows)-1].Time
	command := "M"
	for i, r := range rows {
		v := of(r)
		if i > 0 && r.Time.Sub(rows[i-1].Time) > max(3*step, 30*time.Second) {
			command = "M"
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			command = "M"
			continue
		}
		x := float64(r.Time.Sub(first)) / float64(last.Sub(first)) * chartWidth
		y := chartHeight - 2 - max(v, 0)/most*(chartHeight-8)
		fmt.Fprintf(&d, "%s%.1f %.1f", command, x, y)
		command = "L"
	}
	return d.String()
}
