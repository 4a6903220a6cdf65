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

// table returns the rows of the table of two columns below a heading of a page.
func table(page, heading string) (rows [][2]string, err error) {
	_, rest, _ := strings.Cut(page, "\n## "+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || strings.HasPrefix(cells[0], "---") || strings.TrimSpace(cells[0]) == "" {
			continue
		}
		rows = append(rows, [2]string{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])})
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no table of two columns below the heading %q", heading)
	}
	return rows, nil
}
