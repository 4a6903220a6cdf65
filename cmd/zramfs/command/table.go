// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tableColumn is how one column of a table is laid out. The rules are those of libsmartcols, which
// zramctl prints with, as they show on its output.
type tableColumn struct {
	name string
	// right aligns cells and heading to the right.
	right bool
	// preferred is a width in characters for a column that would be narrower and whose heading is; 0
	// for none. It makes DATA five wide for cells of four characters, though not for shorter ones.
	preferred int
	// elastic columns give up width when the terminal is too narrow, down to the width of their
	// heading.
	elastic bool
	// truncate cuts a cell that is too wide for its column; without it the line breaks after the cell.
	truncate bool
}

// table is columns and rows of cells, one for each column.
type table struct {
	columns []tableColumn
	rows    [][]string
}

// tableStyle is how a table is printed.
type tableStyle struct {
	raw        bool // one space between cells, no alignment, blanks in cells as \x20
	noHeadings bool
	utf8       bool // the terminal or file takes UTF-8; other bytes than ASCII are escaped without it
	width      int  // of the terminal in characters; 0 when the output is none
}

// render returns the lines of the table. A table without rows has none, not even the headings.
func (t table) render(style tableStyle) string {
	if len(t.rows) == 0 {
		return ""
	}
	encode := style.encodeCell
	if style.raw {
		encode = encodeRaw
	}
	var lines [][]string
	if !style.noHeadings {
		headings := make([]string, len(t.columns))
		for i, c := range t.columns {
			headings[i] = c.name
		}
		lines = append(lines, headings)
	}
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = encode(cell)
		}
		lines = append(lines, cells)
	}
	if style.raw {
		return renderRaw(lines)
	}
	widths := t.naturalWidths(lines)
	if style.width > 0 {
		t.fit(widths, style.width)
	}
	return t.renderAligned(lines, widths)
}

func renderRaw(lines [][]string) string {
	var out strings.Builder
	for _, cells := range lines {
		out.WriteString(strings.Join(cells, " "))
		out.WriteByte('\n')
	}
	return out.String()
}

// naturalWidths returns the width that each column has when there is room enough.
func (t table) naturalWidths(lines [][]string) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		for _, cells := range lines {
			widths[i] = max(widths[i], displayWidth(cells[i]))
		}
		heading := displayWidth(c.name) // counts even when headings are not printed
		widths[i] = max(widths[i], heading)
		if widths[i] < c.preferred && t.widestCell(lines, i) >= heading {
			widths[i] = c.preferred
		}
	}
	return widths
}

// widestCell is the width of column i without its heading.
func (t table) widestCell(lines [][]string, i int) int {
	widest := 0
	for _, cells := range lines[len(lines)-len(t.rows):] {
		widest = max(widest, displayWidth(cells[i]))
	}
	return widest
}

// fit takes width from elastic columns until the table is no wider than the terminal or nothing is
// left to take: first from those that are truncated, then from the others.
func (t table) fit(widths []int, terminal int) {
	total := len(widths) - 1
	for _, w := range widths {
		total += w
	}
	for _, truncated := range []bool{true, false} {
		for i, c := range t.columns {
			if !c.elastic || c.truncate != truncated {
				continue
			}
			spare := widths[i] - displayWidth(c.name)
			cut := min(max(total-terminal, 0), spare)
			widths[i] -= cut
			total -= cut
		}
	}
}

func (t table) renderAligned(lines [][]string, widths []int) string {
	var out strings.Builder
	for _, cells := range lines {
		indent := 0
		for i, cell := range cells {
			last := i == len(cells)-1
			if t.columns[i].truncate {
				cell = truncateTo(cell, widths[i])
			}
			padding := widths[i] - displayWidth(cell)
			indent += widths[i] + 1
			switch {
			case t.columns[i].right:
				out.WriteString(strings.Repeat(" ", max(padding, 0)) + cell)
			case last:
				out.WriteString(cell)
			default:
				out.WriteString(cell + strings.Repeat(" ", max(padding, 0)))
			}
			switch {
			case last:
				out.WriteByte('\n')
			case padding < 0:
				out.WriteString("\n" + strings.Repeat(" ", indent))
			default:
				out.WriteByte(' ')
			}
		}
	}
	return out.String()
}

// encodeCell makes what would disturb the table visible: control characters, bytes that are not
// text, and a backslash that would be taken for the beginning of such an escape.
func (s tableStyle) encodeCell(cell string) string {
	var out strings.Builder
	for i := 0; i < len(cell); {
		r, size := utf8.DecodeRuneInString(cell[i:])
		bytes := cell[i : i+size]
		plain := unicode.IsPrint(r) && (size == 1 || s.utf8) && (r != utf8.RuneError || size > 1)
		if r == '\\' && strings.HasPrefix(cell[i:], `\x`) {
			plain = false
		}
		i += size
		if plain {
			out.WriteString(bytes)
			continue
		}
		escapeBytes(&out, bytes)
	}
	return out.String()
}

// encodeRaw leaves only what a program can split at blanks: visible ASCII without the backslash.
func encodeRaw(cell string) string {
	var out strings.Builder
	for i := range len(cell) {
		if c := cell[i]; c > ' ' && c < 0x7f && c != '\\' {
			out.WriteByte(c)
			continue
		}
		escapeBytes(&out, cell[i:i+1])
	}
	return out.String()
}

func escapeBytes(out *strings.Builder, bytes string) {
	for i := range len(bytes) {
		fmt.Fprintf(out, `\x%02x`, bytes[i])
	}
}

// displayWidth is the number of terminal columns that s takes.
func displayWidth(s string) int {
	width := 0
	for _, r := range s {
		width += runeWidth(r)
	}
	return width
}

// wideRunes are the blocks that terminals print two columns wide (Unicode Standard Annex 11, the
// common ones).
var wideRunes = []struct{ first, last rune }{
	{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f},
	{0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
}

func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	for _, block := range wideRunes {
		if r >= block.first && r <= block.last {
			return 2
		}
	}
	return 1
}

// truncateTo cuts s to at most width terminal columns.
func truncateTo(s string, width int) string {
	used := 0
	for i, r := range s {
		used += runeWidth(r)
		if used > width {
			return s[:i]
		}
	}
	return s
}

// localeIsUTF8 reports whether the environment asks for UTF-8, in the order of locale(7).
func localeIsUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
