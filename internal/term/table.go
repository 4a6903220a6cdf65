// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// A Column is the layout of one column of a table. The rules are those of libsmartcols, which
// zramctl prints with, as its output shows them.
type Column struct {
	Name string
	// Right aligns cells and heading to the right.
	Right bool
	// Preferred is a width in characters for a column that would be narrower and whose heading is;
	// 0 for none. It makes DATA five wide for cells of four characters, though not for shorter
	// ones.
	Preferred int
	// Elastic columns shrink when the terminal is too narrow, down to the width of their
	// heading.
	Elastic bool
	// Truncate cuts a cell that is too wide for its column; without it the line breaks after the
	// cell.
	Truncate bool
}

// A Table is columns and rows of cells, one for each column.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// A Style is the way in which a table is printed.
type Style struct {
	Raw        bool // one space between cells, no alignment, blanks in cells as \x20
	NoHeadings bool
	UTF8       bool // the output is UTF-8; without it, all bytes but ASCII are escaped
	Width      int  // of the terminal in characters; 0 for other outputs
}

// Render returns the lines of the table: none for a table without rows, not even the headings.
func (t Table) Render(style Style) string {
	if len(t.Rows) == 0 {
		return ""
	}
	encode := style.encodeCell
	if style.Raw {
		encode = encodeRaw
	}
	var lines [][]string
	if !style.NoHeadings {
		headings := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			headings[i] = c.Name
		}
		lines = append(lines, headings)
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = encode(cell)
		}
		lines = append(lines, cells)
	}
	if style.Raw {
		return renderRaw(lines)
	}
	widths := t.naturalWidths(lines)
	if style.Width > 0 {
		t.fit(widths, style.Width)
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

// naturalWidths returns the widths of the columns where the terminal is wide enough.
func (t Table) naturalWidths(lines [][]string) []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		for _, cells := range lines {
			widths[i] = max(widths[i], DisplayWidth(cells[i]))
		}
		heading := DisplayWidth(c.Name) // counts even when headings are not printed
		widths[i] = max(widths[i], heading)
		if widths[i] < c.Preferred && t.widestCell(lines, i) >= heading {
			widths[i] = c.Preferred
		}
	}
	return widths
}

// widestCell is the width of column i without its heading.
func (t Table) widestCell(lines [][]string, i int) int {
	widest := 0
	for _, cells := range lines[len(lines)-len(t.Rows):] {
		widest = max(widest, DisplayWidth(cells[i]))
	}
	return widest
}

// fit shrinks elastic columns until the table fits the terminal or all are as narrow as their
// headings: first the columns that are truncated, then the others.
func (t Table) fit(widths []int, terminal int) {
	total := len(widths) - 1
	for _, w := range widths {
		total += w
	}
	for _, truncated := range []bool{true, false} {
		for i, c := range t.Columns {
			if !c.Elastic || c.Truncate != truncated {
				continue
			}
			spare := widths[i] - DisplayWidth(c.Name)
			cut := min(max(total-terminal, 0), spare)
			widths[i] -= cut
			total -= cut
		}
	}
}

func (t Table) renderAligned(lines [][]string, widths []int) string {
	var out strings.Builder
	for _, cells := range lines {
		indent := 0
		for i, cell := range cells {
			last := i == len(cells)-1
			if t.Columns[i].Truncate {
				cell = truncateTo(cell, widths[i])
			}
			padding := widths[i] - DisplayWidth(cell)
			indent += widths[i] + 1
			switch {
			case t.Columns[i].Right:
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

// encodeCell escapes as \xNN what would disturb the table: control characters, bytes that are not
// text, and a backslash that would read as the beginning of such an escape.
func (s Style) encodeCell(cell string) string {
	var out strings.Builder
	for i := 0; i < len(cell); {
		r, size := utf8.DecodeRuneInString(cell[i:])
		bytes := cell[i : i+size]
		plain := unicode.IsPrint(r) && (size == 1 || s.UTF8) && (r != utf8.RuneError || size > 1)
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

// encodeRaw escapes all but visible ASCII, and the backslash, so that a program can split at
// blanks.
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

// DisplayWidth is the number of terminal columns of s.
func DisplayWidth(s string) int {
	width := 0
	for _, r := range s {
		width += RuneWidth(r)
	}
	return width
}

// RuneWidth is the number of terminal columns of r: 0, 1 or 2.
func RuneWidth(r rune) int { return uniseg.StringWidth(string(r)) }

// truncateTo cuts s to at most width terminal columns.
func truncateTo(s string, width int) string {
	used := 0
	for i, r := range s {
		used += RuneWidth(r)
		if used > width {
			return s[:i]
		}
	}
	return s
}

// UTF8 reports whether the environment asks for UTF-8, in the order of locale(7).
func UTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
