// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math"
	"slices"
)

// The characters of a column of a graph, from nothing to full.
var (
	blocks = []rune(" ▁▂▃▄▅▆▇█")
	ascii  = []rune(" .:|")
)

// levels returns the characters that the terminal has.
func levels(utf8 bool) []rune {
	if utf8 {
		return blocks
	}
	return ascii
}

// plot draws the last values as columns from zero to the largest of them, the newest at the right.
// It returns rows from the top; a value above zero has a mark.
func plot(values []float64, width, height int, characters []rune) []string {
	values = values[max(len(values)-width, 0):]
	most := 0.0
	if len(values) > 0 {
		most = slices.Max(values)
	}
	steps := len(characters) - 1
	rows := make([]string, height)
	for y := range rows {
		row := slices.Repeat([]rune{' '}, width)
		for i, v := range values {
			if v <= 0 || most <= 0 {
				continue
			}
			filled := max(int(math.Round(v/most*float64(steps*height))), 1)
			row[width-len(values)+i] = characters[min(max(filled-(height-1-y)*steps, 0), steps)]
		}
		rows[y] = string(row)
	}
	return rows
}

// bar draws a share between 0 and 1 as a row of marks.
func bar(share float64, width int, utf8 bool) (filled, rest string) {
	mark, space := '|', ' '
	if utf8 {
		mark, space = '█', '░'
	}
	n := int(math.Round(min(max(share, 0), 1) * float64(width)))
	if share > 0 && n == 0 && width > 0 {
		n = 1
	}
	return string(slices.Repeat([]rune{mark}, n)), string(slices.Repeat([]rune{space}, max(width-n, 0)))
}
