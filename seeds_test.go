// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A test draws its inputs from a fixed seed, or from require.Seed, so that it passes again where it
// passed: fresh seeds are for make explore.
func TestHouseTestsDrawNoSeed(t *testing.T) {
	draws := 0
	goFiles(t, func(file string, parsed *ast.File, text string) {
		if !strings.HasSuffix(file, "_test.go") || !strings.Contains(text, `"math/rand`) {
			return
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := c.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "UnixNano" {
				t.Errorf("%s: the time is another seed each time", file)
			}
			switch pkg, name := selector(c); {
			case pkg != "rand" || name == "GenerateKey":
			case !strings.HasPrefix(name, "New"):
				t.Errorf("%s: rand.%s draws from another seed each time", file, name)
			default:
				draws++
				for _, from := range c.Args {
					ast.Inspect(from, func(n ast.Node) bool {
						if inner, ok := n.(*ast.CallExpr); ok {
							if pkg, name := selector(inner); pkg == "os" {
								t.Errorf("%s: os.%s is another seed each time", file, name)
							}
						}
						return true
					})
				}
			}
			return true
		})
	})
	if draws < 50 {
		t.Errorf("only %d tests draw", draws)
	}
}

// CI draws no seed: explore.sh alone does that and fuzzes, and CI gives it one.
func TestHouseRunDrawsNoSeed(t *testing.T) {
	scripts, err := filepath.Glob("tools/*.sh")
	if err != nil || len(scripts) < 10 {
		t.Fatal(scripts, err)
	}
	draws := regexp.MustCompile(`\$\{?RANDOM|fuzz\.sh|/dev/u?random`)
	for _, file := range append(scripts, ".ci/run", "Makefile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := draws.FindString(string(text)); found != "" && file != "tools/explore.sh" {
			t.Errorf("%s has %s", file, found)
		}
	}
	plan := dryRun(t, "explore-fixed")
	if !strings.Contains(plan, " SEED=") {
		t.Errorf("CI explores without a seed: %s", plan)
	}
}

// make help names what a newcomer needs, and the build says a word for each program.
func TestHouseMakefileIsQuiet(t *testing.T) {
	help, err := exec.Command("make", "--no-print-directory", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"build", "test", "check", "explore", "run", "bench"} {
		if !regexp.MustCompile(`(?m)^` + target + ` +[A-Z]`).Match(help) {
			t.Errorf("make help has no line for %s:\n%s", target, help)
		}
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, echoed := range regexp.MustCompile(`(?m)^\t[^@\n].* build .* -o .*$`).FindAllString(string(makefile), -1) {
		if !strings.Contains(echoed, "/dev/null") { // of lint, whose lines are in a log
			t.Errorf("make prints all of %.100q", echoed)
		}
	}
}

// dryRun returns the lines that make would run for a target.
func dryRun(t *testing.T, target string) string {
	t.Helper()
	out, err := exec.Command("make", "--no-print-directory", "-n", target).CombinedOutput()
	if err != nil {
		t.Fatalf("make -n %s: %v: %s", target, err, out)
	}
	return string(out)
}
