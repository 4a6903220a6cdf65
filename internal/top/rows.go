// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"

	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/term"
)

// A row is one figure of a device: a label, a bar or graph if there is room, and as many
// words as fit.
type row struct {
	label  string
	rank   int       // rows with the highest are left out first where the screen is low
	share  float64   // of the bar; negative for none
	values []float64 // of the graph; nil for none
	style  style     // of the bar or graph
	words  []string
	accent style    // of the first word
	more   []string // lines below the words, where the screen has room
}

// labelWidth is the columns of the labels, with the space behind them.
const labelWidth = 9

// rowsOf returns the rows of a device that answers.
func rowsOf(v view) []row {
	p := v.point
	series := func(f func(monitor.Point) float64) []float64 {
		values := make([]float64, len(v.points))
		for i, q := range v.points {
			values[i] = f(q)
		}
		return values
	}
	full := func(value *float64) float64 {
		if value == nil {
			return 0
		}
		return *value
	}
	rows := []row{
		swapRow(p),
		{label: "memory", rank: 1, share: shareOf(p.Memory, cmp.Or(p.SwapSize, p.Stored)), style: memoryStyle(p), words: memoryWords(p)},
		{label: "saved", rank: 4, share: -1, words: savedWords(p), accent: savedStyle(p)},
		{label: "ratio", rank: 7, share: -1, values: series(func(q monitor.Point) float64 { return q.Ratio }), style: graph, words: ratioWords(p)},
		{label: "in", rank: 2, share: -1, values: series(func(q monitor.Point) float64 { return q.In.Pages }), style: graph, words: flowWords(p.In, p.ReadTime)},
		{label: "out", rank: 3, share: -1, values: series(func(q monitor.Point) float64 { return q.Out.Pages }), style: graph, words: flowWords(p.Out, p.WriteTime)},
		{label: "codec", rank: 6, share: -1, words: codecWords(p)},
		{label: "cpu", rank: 8, share: -1, values: series(func(q monitor.Point) float64 { return full(q.CPU) }), style: graph, words: cpuWords(p)},
		{label: "pressure", rank: 9, share: -1, values: series(func(q monitor.Point) float64 { return full(q.PressureSome) }), style: graph, words: pressureWords(p)},
	}
	if p.InZswap > 0 || p.ZswapIn > 0 || p.ZswapBack > 0 {
		rows = slices.Insert(rows, 2, row{label: "zswap", rank: 3, share: -1, values: series(func(q monitor.Point) float64 { return q.ZswapIn }), style: graph, words: zswapWords(p)})
	}
	return append(rows, troubleRow(v))
}

// swapRow is known of a device that does not answer, too.
func swapRow(p monitor.Point) row {
	s := good
	switch share := shareOf(p.SwapUsed, p.SwapSize); {
	case share > 0.9:
		s = bad
	case share > 0.75:
		s = warn
	}
	r := row{label: "swap", share: shareOf(p.SwapUsed, p.SwapSize), style: s, words: swapWords(p), accent: strong}
	if p.SwapSize == 0 {
		r.share = -1
	}
	return r
}

// troubleRow names the first problem; all of them are below it where there is room.
func troubleRow(v view) row {
	r := row{label: "trouble", rank: 5, share: -1, words: []string{"none", troubleWords(v.point)}, accent: good}
	if len(v.problems) == 0 {
		return r
	}
	r.accent, r.words = bad, []string{v.problems[0].What, troubleWords(v.point)}
	if n := len(v.problems) - 1; n > 0 {
		r.words = slices.Insert(r.words, 1, term.Plural(n, "more", "more")+" in zramfs status")
	}
	for i, p := range v.problems {
		if i > 0 {
			r.more = append(r.more, p.What)
		}
		if p.Fix != "" {
			r.more = append(r.more, "fix: "+p.Fix)
		}
	}
	return r
}

func ratioWords(p monitor.Point) []string {
	if p.Ratio == 0 {
		return []string{"nothing stored"}
	}
	return []string{term.Ratio(p.Ratio)}
}

func memoryStyle(p monitor.Point) style {
	if p.MemoryLimit > 0 && shareOf(p.Memory, p.MemoryLimit) >= 0.9 {
		return bad
	}
	return graph
}

func savedStyle(p monitor.Point) style {
	if p.Saved < 0 {
		return warn
	}
	return good
}

func shareOf(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// fitting leaves out the rows with the highest ranks until at most n remain.
func fitting(rows []row, n int) []row {
	for len(rows) > max(n, 0) {
		last := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.rank, b.rank) })
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.rank == last.rank })
	}
	return rows
}
