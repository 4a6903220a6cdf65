// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// introduction returns the first paragraph of a page, as plain text in one line.
func introduction(page string) (string, error) {
	for paragraph := range strings.SplitSeq(page, "\n\n") {
		if !strings.HasPrefix(paragraph, "#") {
			return strings.NewReplacer("`", "", "\n", " ").Replace(strings.TrimSpace(paragraph)), nil
		}
	}
	return "", fmt.Errorf("it has no paragraph")
}

// section returns the text below a heading of a page.
func section(page, heading string) string {
	_, rest, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// table returns the rows of the table of that many columns below a heading of a page, without those
// whose first cell is empty.
func table(page, heading string, columns int) (rows [][]string, err error) {
	for line := range strings.Lines(section(page, heading)) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != columns || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "" {
			continue
		}
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no table of %d columns below the heading %q", columns, heading)
	}
	return rows, nil
}
