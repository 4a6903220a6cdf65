// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"fmt"
	"go/ast"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/criteria"
)

// claims returns the ID of every claim.
func claims() []string {
	var all []string
	for i := range 100 {
		all = append(all, fmt.Sprintf("F%03d", i+1))
	}
	for i := range 23 {
		all = append(all, fmt.Sprintf("G.%d", 101+i))
	}
	for i := range 13 {
		all = append(all, fmt.Sprintf("H%d", i+1))
	}
	return all
}

// claimStates are the states of a claim, each with whether a figure or a reason must follow.
var claimStates = map[string]bool{"survived": false, "falsified": true, "open": true, "excluded": true, "failed": true}

// testNames returns the names of all tests, fuzz targets and benchmarks.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	goFiles(t, func(path string, file *ast.File, _ string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && claimTest.MatchString(f.Name.Name) {
				names[f.Name.Name] = true
			}
		}
	})
	return names
}

// claimTest matches the names of functions that go test runs.
var claimTest = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)

// Each claim has one row in docs/criteria.md with a state, and the tests that the rows name exist.
func TestHouseClaimsHaveOneRowAndTests(t *testing.T) {
	page, err := os.ReadFile("docs/criteria.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := criteria.Parse(string(page))
	if err != nil {
		t.Fatal(err)
	}
	tests, rows := testNames(t), map[string]criteria.Row{}
	for _, r := range table.Rows {
		if _, twice := rows[r.ID]; twice {
			t.Errorf("%s has two rows", r.ID)
		}
		rows[r.ID] = r
		word, text, _ := strings.Cut(r.State, ": ")
		if needsText, known := claimStates[word]; !known || needsText && text == "" {
			t.Errorf("%s has the state %q", r.ID, r.State)
		}
		for _, pattern := range r.Judges() {
			if !anyMatch(tests, pattern) {
				t.Errorf("%s names %s: there is no such test", r.ID, pattern)
			}
		}
	}
	for _, id := range claims() {
		if _, ok := rows[id]; !ok {
			t.Errorf("%s has no row", id)
		}
		delete(rows, id)
	}
	for id := range rows {
		t.Errorf("%s has a row and is no claim", id)
	}
}

func anyMatch(tests map[string]bool, pattern string) bool {
	for name := range tests {
		if criteria.Match(pattern, name) {
			return true
		}
	}
	return false
}

// CHANGELOG.md lists the versions from the newest on, with their dates, below an entry for
// unreleased changes.
func TestF098ChangelogIsKept(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heads := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(heads) < 2 || heads[0][1] != "Unreleased" {
		t.Fatalf("the first of %d headings is not Unreleased", len(heads))
	}
	version := regexp.MustCompile(`^v\d+\.\d+\.\d+, (\d{4}-\d\d-\d\d)$`)
	newer := "9"
	for _, h := range heads[1:] {
		m := version.FindStringSubmatch(h[1])
		if m == nil || m[1] > newer {
			t.Errorf("%q is no version with a date, or not older than the one above it", h[1])
			continue
		}
		newer = m[1]
	}
}

var (
	makeRule    = regexp.MustCompile(`(?m)^([a-z][a-z -]*):`)
	makeCommand = regexp.MustCompile("^make ([a-z][a-z-]*)")
	goTestNames = regexp.MustCompile(`-(?:run|bench) '?\^?([\w|]+)`)
)

// The commands that the documents give for their figures exist: each make target, and a test or
// benchmark for each go test pattern that is a name.
func TestF099PublishedCommandsExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range makeRule.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, strings.Fields(m[1])...)
	}
	var names strings.Builder
	for name := range testNames(t) {
		names.WriteString(name + "\n")
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for code := range inlineCode(string(text)) {
			for _, m := range makeCommand.FindAllStringSubmatch(code, 1) {
				if !slices.Contains(targets, m[1]) {
					t.Errorf("%s: %s is no target of the Makefile", page, m[0])
				}
			}
			for _, m := range goTestNames.FindAllStringSubmatch(code, -1) {
				if pattern := regexp.MustCompile(m[1]); m[1] != "real" && !pattern.MatchString(names.String()) {
					t.Errorf("%s: %s matches no test or benchmark", page, m[0])
				}
			}
		}
	}
}

// inlineCode yields the text in backticks or indented as code.
func inlineCode(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range regexp.MustCompile("`([^`\n]+)`|(?m)^    (.*)$").FindAllStringSubmatch(text, -1) {
			if !yield(m[1] + m[2]) {
				return
			}
		}
	}
}
