// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"errors"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// devices are the requirements of package require whose tests must not run at the same time.
var devices = []string{"FUSE", "UserNS", "MountNS", "Loop", "Swap", "Zram"}

// Packages whose tests use devices are those of DEVICES in the Makefile, so that no two of them run
// at the same time.
func TestHouseMakefileKnowsWhatUsesDevices(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^DEVICES := (.*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatal("the Makefile has no DEVICES")
	}
	pattern, err := regexp.Compile(strings.ReplaceAll(line[1], "$$", "$"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	goFiles(t, func(file string, parsed *ast.File, _ string) {
		if !strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if pkg, name := selector(c); pkg == "require" && slices.Contains(devices, name) {
					if found++; !pattern.MatchString(module + "/" + path.Dir(file)) {
						t.Errorf("%s: the package asks for %s and is not among DEVICES in the Makefile", file, name)
					}
				}
			}
			return true
		})
	})
	if found < 100 {
		t.Errorf("only %d tests use devices", found)
	}
}

// lintLine returns the line of the Makefile with some words, as a shell reads it.
func lintLine(t *testing.T, words string) string {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\t@?(.*` + words + ` .*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatalf("the Makefile has no line with %s", words)
	}
	return strings.ReplaceAll(line[1], "$$", "$")
}

// lints runs a line over files with these texts, and reports whether it finds nothing.
func lints(t *testing.T, line string, files map[string]string) (clean bool, said string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	lint := exec.Command("sh", "-c", line)
	lint.Dir = dir
	out, err := lint.CombinedOutput()
	return err == nil, string(out)
}

// Lint reads each script, also those behind the first.
func TestHouseMakefileReadsEachScript(t *testing.T) {
	line := lintLine(t, "bash -n")
	for _, bad := range []string{".ci/run", "tools/one.sh", "tools/two.sh", "gpu/one.sh", ""} {
		files := map[string]string{".ci/run": "true\n", "tools/one.sh": "true\n", "tools/two.sh": "true\n", "gpu/one.sh": "true\n"}
		if bad != "" {
			files[bad] = "if true; then\n"
		}
		if clean, said := lints(t, line, files); clean != (bad == "") {
			t.Errorf("with a mistake in %q: clean %t: %s", bad, clean, said)
		}
	}
}

// Lint refuses sources that gofmt would change, and those that it cannot read: some are in modules
// that nothing else in CI compiles.
func TestHouseMakefileReadsEachSource(t *testing.T) {
	line := lintLine(t, "gofmt -l")
	for text, want := range map[string]bool{"package a\n": true, "package  a\n": false, "package a\nfunc\n": false} {
		if clean, said := lints(t, line, map[string]string{"a.go": "package a\n", "b/b.go": text}); clean != want || !clean && !strings.Contains(said, "b/b.go") {
			t.Errorf("%q: clean %t: %s", text, clean, said)
		}
	}
}
