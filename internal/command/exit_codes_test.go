// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// exitDocument is the page with a table of the exit codes of each command.
const exitDocument = "../../docs/exit-codes.md"

// The page has one row for each code of each command with codes of its own, and for those of all
// others, with the meanings that the help has, and no other row. With -update the table is written
// anew.
func TestDocsExitCodes(t *testing.T) {
	page, err := os.ReadFile(exitDocument)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| command | code | meaning |\n|---|---|---|\n"
	var want strings.Builder
	for _, e := range commonCodes {
		fmt.Fprintf(&want, "| every other | %d | %s |\n", e.code, e.meaning)
	}
	for _, name := range slices.Sorted(maps.Keys(ownCodes)) {
		for _, e := range exitCodesOf(name) {
			fmt.Fprintf(&want, "| `%s` | %d | %s |\n", name, e.code, e.meaning)
		}
	}
	before, table, ok := strings.Cut(string(page), head)
	if !ok {
		t.Fatalf("docs/exit-codes.md has no table %q", head)
	}
	if *update {
		table = want.String()
		if err := os.WriteFile(exitDocument, []byte(before+head+table), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, rows := strings.Split(table, "\n"), strings.Split(want.String(), "\n")
	for i := range max(len(got), len(rows)) {
		if i >= len(got) || i >= len(rows) || got[i] != rows[i] {
			t.Fatalf("docs/exit-codes.md differs from the codes in row %d of its table; -update writes it\n%s\nwant\n%s", i+1, table, want.String())
		}
	}
}

// The help of a command has its codes, and codes of its own belong to a command that exists.
func TestHelpHasExitCodes(t *testing.T) {
	names := map[string]bool{}
	for _, c := range newApp(io.Discard, io.Discard).Commands {
		names[c.Name] = true
		if c.Hidden || c.Name == "help" {
			continue
		}
		var out strings.Builder
		if code := run([]string{"zramfs", c.Name, "--help"}, &out, io.Discard); code != exitOK {
			t.Errorf("%s --help: exit code %d", c.Name, code)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, e := range exitCodesOf(c.Name) {
			if line := strings.Join(strings.Fields(fmt.Sprintf("%d %s", e.code, e.meaning)), " "); !strings.Contains(text, line) {
				t.Errorf("%s --help does not say %q", c.Name, line)
			}
		}
	}
	for name := range ownCodes {
		if !names[name] {
			t.Errorf("%s has exit codes and is no command", name)
		}
	}
}
