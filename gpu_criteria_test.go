// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// gpuCriteria are those that the page about the GPU answers for.
func gpuCriteria() []string {
	var all []string
	add := func(format string, numbers ...int) {
		for _, n := range numbers {
			all = append(all, fmt.Sprintf(format, n))
		}
	}
	add("F%03d", 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 54, 56, 59, 64, 65, 87, 88, 93, 95)
	add("G%d", 108, 109, 110, 115, 116, 117, 118, 119, 120)
	add("H%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	return all
}

var (
	testName     = regexp.MustCompile(`^Test((?:[FG]\d{3}|H\d{1,2})+)(?:\D|$)`)
	criterionRow = regexp.MustCompile(`^\| ([FG]\d{3}|H\d{1,2}) \| (\w+) \| (.+) \|$`)
	oneCriterion = regexp.MustCompile(`[FGH]\d+`)
)

// Each criterion has a row in docs/gpu.md that says how it stands, and a test that is named after
// it unless it is excluded. What is open or excluded has a reason.
func TestGPUCriteriaHaveTests(t *testing.T) {
	tested := map[string]bool{}
	goFiles(t, func(path string, file *ast.File, _ string) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasSuffix(path, "_test.go") {
				continue
			}
			if m := testName.FindStringSubmatch(f.Name.Name); m != nil {
				for _, id := range oneCriterion.FindAllString(m[1], -1) {
					tested[id] = true
				}
			}
		}
	})
	page, err := os.ReadFile("docs/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		m := criterionRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		id, state, reason := m[1], m[2], strings.TrimSpace(m[3])
		rows = append(rows, id)
		switch {
		case !slices.Contains([]string{"SURVIVED", "FALSIFIED", "OPEN", "EXCLUDED"}, state) || len(reason) < 10:
			t.Errorf("%s is %s: %q", id, state, reason)
		case state == "EXCLUDED" && tested[id]:
			t.Errorf("%s is excluded and has a test", id)
		case state != "EXCLUDED" && !tested[id]:
			t.Errorf("%s is %s, and no test has its name", id, state)
		}
	}
	if want := gpuCriteria(); !slices.Equal(rows, want) {
		t.Errorf("docs/gpu.md has rows for %v, want them for %v", rows, want)
	}
}
