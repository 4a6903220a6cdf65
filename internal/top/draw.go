// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strconv"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

// draw draws the model on a screen of this size.
func (m *model) draw(width, height int) *canvas {
	c := newCanvas(width, height)
	if c.width == 0 || c.height == 0 {
		return c
	}
	v := m.shown
	c.title(v)
	bottom := height - 1
	if height >= 3 {
		c.footer(bottom, m)
	} else {
		bottom = height
	}
	switch {
	case m.help:
		c.helpText(2, bottom)
	case v.at == 0:
		c.absent(v)
	case m.who:
		c.who(v, bottom)
	default:
		c.overview(m, bottom)
	}
	return c
}

// title names the device, and says whether it is healthy.
func (c *canvas) title(v view) {
	clock := v.now.Format("15:04:05")
	x := c.width - len(clock)
	if c.width >= 24 {
		c.text(x, 0, faint, clock)
		x--
	} else {
		x = c.width
	}
	if v.at == 0 {
		c.text(0, 0, strong, "zramfs top")
		return
	}
	state, s := v.point.Health, good
	switch {
	case !v.point.Answered():
		state, s = "does not answer", bad
	case len(v.problems) > 0:
		s = bad
	}
	name := v.point.Dir
	if v.of > 1 {
		name += fmt.Sprintf(" (%d of %d)", v.at, v.of)
	}
	parts := []struct {
		s    style
		text string
		rank int // parts with the highest are left out first
	}{{strong, "zramfs top", 4}, {strong, name, 0}, {s, state, 1}, {plain, algorithm(v), 3}, {plain, since(v), 2}}
	for rank := 4; rank > 1; rank-- {
		total := 0
		for _, p := range parts {
			if p.text != "" {
				total += term.DisplayWidth(p.text) + 2
			}
		}
		if total <= x {
			break
		}
		for i := range parts {
			if parts[i].rank == rank {
				parts[i].text = ""
			}
		}
	}
	at := 0
	for _, p := range parts {
		if p.rank == 0 {
			p.text = ending(p.text, x-len(state)-4)
		}
		if p.text != "" && at < x {
			at = c.text(at, 0, p.s, p.text) + 2
		}
	}
}

func algorithm(v view) string {
	if v.device.Status == nil {
		return ""
	}
	return v.device.Status.Algorithm
}

func since(v view) string {
	if !v.point.Answered() {
		return ""
	}
	return uptime(v.point)
}

// footer names the keys.
func (c *canvas) footer(y int, m *model) {
	x := 0
	if m.paused {
		x = c.text(x, y, warn, "paused") + 2
	}
	if err := m.shown.err; err != nil && m.shown.at > 0 {
		c.text(x, y, bad, term.OneLine(err.Error()))
		return
	}
	keys := []string{"q quit", "w who", "p pause", "? help"}
	if m.shown.of > 1 {
		keys = []string{"q quit", "tab next device", "w who", "p pause", "? help"}
	}
	for _, key := range keys {
		if x+len(key) <= c.width {
			x = c.text(x, y, faint, key) + 2
		}
	}
}

// absent says that there is no device.
func (c *canvas) absent(v view) {
	text := "looking for devices"
	if v.err != nil {
		text = term.OneLine(v.err.Error())
	} else if !v.now.IsZero() {
		text = "no zramfs device is running"
	}
	c.text(0, 2, bad, text)
}

// overview draws the rows of the device, and below them the processes with the most in swap.
func (c *canvas) overview(m *model, bottom int) {
	v := m.shown
	rows := rowsOf(v)
	if !v.point.Answered() {
		rows = []row{swapRow(v.point), troubleRow(v)}
	}
	gap := 0 // an empty line below the title and above the processes
	if bottom >= len(rows)+4 {
		gap = 1
	}
	tall := 1
	if c.height > 36 {
		tall = min(1+(c.height-36)/8, 4)
	}
	y := 1 + gap
	for _, r := range fitting(rows, bottom-1) {
		y += c.row(y, r, m.utf8, tall)
		for _, line := range r.more {
			if y+gap+2 <= bottom { // what is wrong goes before the processes
				c.text(labelWidth, y, plain, line)
				y++
			}
		}
	}
	if y+gap+2 <= bottom {
		c.processes(y+gap, bottom, v.processes)
	}
}

// row draws a row of the overview, a graph that many lines tall, and returns its lines.
func (c *canvas) row(y int, r row, utf8 bool, tall int) int {
	lines := 1
	c.text(0, y, faint, r.label)
	x, wide := labelWidth, c.graphWidth()
	switch {
	case wide == 0:
	case r.share >= 0:
		filled, rest := bar(r.share, wide, utf8)
		c.text(c.text(x, y, r.style, filled), y, faint, rest)
		x += wide + 2
	case r.values != nil:
		lines = tall
		for i, line := range plot(r.values, wide, tall, levels(utf8)) {
			c.text(x, y+i, r.style, line)
		}
		x += wide + 2
	}
	for i, word := range r.words {
		s := plain
		if i == 0 {
			s = r.accent
		}
		if i > 0 && x+term.DisplayWidth(word) > c.width {
			break
		}
		x = c.text(x, y, s, word) + 2
	}
	return lines
}

// graphWidth is the width of bars and graphs: what the words leave, or none on a narrow screen.
func (c *canvas) graphWidth() int {
	words := min(max(c.width/2, 40), 60)
	if wide := c.width - labelWidth - 2 - words; wide >= 8 {
		return wide
	}
	return 0
}

// who draws the fill of swap and a long table of processes.
func (c *canvas) who(v view, bottom int) {
	swap := swapRow(v.point)
	c.text(0, 1, faint, swap.label)
	x := labelWidth
	for i, word := range append(swap.words, total(v.processes)) {
		if i == 0 || x+len(word) <= c.width {
			x = c.text(x, 1, plain, word) + 2
		}
	}
	if y := max(min(3, bottom-2), 2); y < bottom {
		c.processes(y, bottom, v.processes)
	}
}

// total sums up the processes.
func total(all []host.Swapped) string {
	var bytes uint64
	for _, p := range all {
		bytes += p.Bytes
	}
	return fmt.Sprintf("%s of %s", term.Size(bytes), term.Plural(len(all), "process", "processes"))
}

// groupFrom is the width of a screen that shows control groups, too.
const groupFrom = 60

// processes draws a table of processes from line y to the one above bottom.
func (c *canvas) processes(y, bottom int, all []host.Swapped) {
	line := func(y int, s style, pid, size, name, group string) {
		x := c.text(max(8-len(pid), 0), y, s, pid)
		x = c.text(max(x+1, 18-len(size)), y, s, size) + 2
		if c.width < groupFrom {
			c.text(x, y, s, name)
			return
		}
		c.text(x, y, s, fmt.Sprintf("%-16s", name))
		c.text(x+18, y, s, ending(group, c.width-x-18))
	}
	line(y, strong, "PID", "IN SWAP", "COMMAND", "CGROUP")
	if len(all) == 0 && y+1 < bottom {
		c.text(11, y+1, faint, "no process has memory in swap")
	}
	for i, p := range all {
		if y+1+i < bottom {
			line(y+1+i, plain, strconv.Itoa(p.PID), term.Size(p.Bytes), p.Name, p.Group)
		}
	}
}
