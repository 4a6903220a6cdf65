// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// errFailed means that the findings report a failed step.
var errFailed = errors.New("a step failed")

// printTable prints the findings in file and writes them to document as one JSON document. A failed
// step is an error.
func printTable(file, document string, out io.Writer) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := []finding{}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var f finding
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil { // a step was killed while it printed
			f = finding{What: "half a line", Error: err.Error(), Text: "FAILED"}
		}
		all = append(all, f)
	}
	if document != "" {
		text, err := json.MarshalIndent(all, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(document, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return writeTable(all, out)
}

func writeTable(all []finding, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, "step\tcriterion\twhat\tfigure\t"); err != nil {
		return err
	}
	failed := 0
	for _, f := range all {
		if f.Error != "" {
			failed++
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.Step, f.Criterion, f.What, f.figure(), f.verdict()); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d findings say so", errFailed, failed)
	}
	return nil
}

// figure returns the number with its unit, if it has one.
func (f finding) figure() string {
	if f.Unit == "" && f.Text != "" && f.Value == 0 {
		return ""
	}
	format, digits := byte('g'), 4
	if f.Value >= 1000 {
		format, digits = 'f', 0
	}
	return strings.TrimSpace(strconv.FormatFloat(f.Value, format, digits, 64) + " " + f.Unit)
}

// verdict returns the text of a finding and how it compares with its target.
func (f finding) verdict() string {
	var said []string
	switch {
	case f.Error != "":
		return "FAILED: " + f.Error
	case f.Met == nil:
	case f.Want == "":
		said = append(said, "ok")
	case *f.Met:
		said = append(said, f.Want+": reached")
	default:
		said = append(said, f.Want+": NOT REACHED")
	}
	if f.Text != "" {
		said = append(said, f.Text)
	}
	return strings.Join(said, "; ")
}
