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

// Lint reads each script, also those behind the first.
func TestHouseMakefileReadsEachScript(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\t(.*bash -n .*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatal("the Makefile has no line with bash -n")
	}
	scripts := []string{".ci/run", "tools/one.sh", "tools/two.sh", "gpu/one.sh"}
	for _, bad := range append(scripts, "") {
		dir := t.TempDir()
		for _, name := range scripts {
			text := "true\n"
			if name == bad {
				text = "if true; then\n"
			}
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		lint := exec.Command("sh", "-c", strings.ReplaceAll(line[1], "$$", "$"))
		lint.Dir = dir
		if out, err := lint.CombinedOutput(); (err != nil) != (bad != "") {
			t.Errorf("with a mistake in %q: %v\n%s", bad, err, out)
		}
	}
}
