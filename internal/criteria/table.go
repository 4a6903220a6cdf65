// SPDX-License-Identifier: Apache-2.0

package criteria

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Row is a line of the table.
type Row struct {
	ID    string
	Claim string
	// Whole and Part are the judges, as patterns of [path.Match]: those of the whole claim, and
	// those named after the words "in part".
	Whole, Part []string
	// State is a word and, behind a colon, its figure or reason.
	State string

	line int // index in Table.lines
}

// A Table is docs/criteria.md.
type Table struct {
	Rows  []Row
	lines []string
}

var (
	rowLine = regexp.MustCompile(`^\| ((?:F|G\.)\d{3}|H\d{1,2}) \|`)
	judge   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w*\\*?)`")
)

// Parse reads a page that holds the table, in one piece or several.
func Parse(page string) (*Table, error) {
	t := &Table{lines: strings.Split(page, "\n")}
	for i, line := range t.lines {
		if !rowLine.MatchString(line) {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if len(cells) != 4 {
			return nil, fmt.Errorf("line %d has %d cells, want 4: %s", i+1, len(cells), line)
		}
		whole, part, _ := strings.Cut(cells[2], "in part")
		t.Rows = append(t.Rows, Row{
			ID: cells[0], Claim: cells[1], State: cells[3],
			Whole: names(whole), Part: names(part), line: i,
		})
	}
	return t, nil
}

func names(cell string) []string {
	var all []string
	for _, m := range judge.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// Judges returns all judges of a row.
func (r *Row) Judges() []string { return slices.Concat(r.Whole, r.Part) }

// Match reports whether name is a test that the pattern, a judge of a row, stands for.
func Match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Pattern returns an expression for the flag -run of go test that selects every judge in the table.
func (t *Table) Pattern() string {
	var all []string
	for i := range t.Rows {
		for _, j := range t.Rows[i].Judges() {
			stem, open := strings.CutSuffix(j, "*")
			if !open {
				stem += "$"
			}
			all = append(all, stem)
		}
	}
	slices.Sort(all)
	return "^(" + strings.Join(slices.Compact(all), "|") + ")"
}

// String returns the page with the states that the rows have now.
func (t *Table) String() string {
	lines := slices.Clone(t.lines)
	for _, r := range t.Rows {
		old := lines[r.line]
		cut := strings.LastIndex(strings.TrimSuffix(old, " |"), " | ")
		lines[r.line] = old[:cut] + " | " + r.State + " |"
	}
	return strings.Join(lines, "\n")
}
