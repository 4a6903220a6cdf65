// SPDX-License-Identifier: Apache-2.0

// Command criteria brings the states in docs/criteria.md up to date.
//
//	go test -json ./... | criteria [-page FILE]
//	criteria -judges
//
// It reads the output of go test -json and rewrites the state of each row whose judges ran; package
// internal/criteria has the rules. With -judges it prints an expression for go test -run that
// selects the judges, and reads nothing. `make criteria` does both.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zramfs/zramfs/internal/criteria"
)

func main() {
	page := flag.String("page", "docs/criteria.md", "the page that holds the table")
	judges := flag.Bool("judges", false, "print the expression that selects the judges")
	flag.Parse()
	if err := run(*page, *judges, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "criteria:", err)
		os.Exit(1)
	}
}

func run(page string, judges bool, in io.Reader, out io.Writer) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	table, err := criteria.Parse(string(text))
	if err != nil {
		return fmt.Errorf("read %s: %w", page, err)
	}
	if judges {
		_, err := fmt.Fprintln(out, table.Pattern())
		return err
	}
	results, err := criteria.Read(in)
	if err != nil {
		return fmt.Errorf("read test output: %w", err)
	}
	changed := table.Update(results)
	if len(changed) == 0 {
		_, err := fmt.Fprintln(out, "no state changed")
		return err
	}
	if err := os.WriteFile(page, []byte(table.String()), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "changed:", strings.Join(changed, " "))
	return err
}
