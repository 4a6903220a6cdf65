// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

var generatorPID = regexp.MustCompile(`zramfs-generator\[\d+\]`)

// unitsFor runs the generator for a root directory, and returns its messages, its exit code and
// the files that it made.
func unitsFor(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(generatorRoot, root)
	var out strings.Builder
	code := runGenerator([]string{"/usr/lib/systemd/system-generators/zramfs-generator", dir, dir + "/early", dir + "/late"}, &out)
	text := generatorPID.ReplaceAllString(out.String(), "zramfs-generator") + fmt.Sprintf("exit code %d\n", code)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text += "\n" + strings.TrimPrefix(path, dir+"/")
		if target, err := os.Readlink(path); err == nil {
			text += " -> " + target + "\n"
			return nil
		}
		written, err := os.ReadFile(path)
		text += ":\n" + string(written)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// F067: the generator makes for each root directory in testdata/generator what is next to its
// files. With -update these texts are written anew.
func TestF067Generator(t *testing.T) {
	roots, err := filepath.Glob("testdata/generator/*")
	if err != nil || len(roots) < 14 {
		t.Fatal(err, roots)
	}
	for _, root := range roots {
		got, golden := unitsFor(t, root), filepath.Join(root, "expected.txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the generator makes\n%s\nwant\n%s", root, got, want)
		}
	}
}

// systemd gives a generator three directories, older programs one.
func TestGeneratorArguments(t *testing.T) {
	t.Setenv(generatorRoot, t.TempDir())
	for n, code := range map[int]int{0: exitUsage, 1: exitOK, 2: exitUsage, 3: exitOK, 4: exitUsage} {
		args := []string{generatorName}
		for range n {
			args = append(args, t.TempDir())
		}
		var out strings.Builder
		if got := runGenerator(args, &out); got != code || (out.Len() > 0) != (code != exitOK) {
			t.Errorf("%d directories: exit code %d, %s", n, got, out.String())
		}
	}
}

// In a container no unit is made, and the log says why; a configuration that cannot be looked for
// is an error.
func TestGeneratorInAContainer(t *testing.T) {
	t.Setenv("SYSTEMD_VIRTUALIZATION", "container:podman")
	dir := t.TempDir()
	var out strings.Builder
	g := &generatorRun{root: "testdata/generator/01-empty-section", out: &out}
	if err := g.write(dir); err != nil || !strings.HasSuffix(out.String(), ": no device: this is a container of podman\n") {
		t.Errorf("%v, %q", err, out.String())
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
		t.Errorf("%v, %v", made, err)
	}
	out.Reset()
	if g.test = true; g.write(dir) != nil || out.Len() > 0 {
		t.Errorf("in a test it says %q", out.String())
	}
	g.root = host.Root(filepath.Join(t.TempDir(), "etc"))
	if err := os.MkdirAll(g.root.Path("etc/zramfs.conf"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := g.write(dir); err == nil {
		t.Error("a configuration that is a directory is none")
	}
}

// A directory that cannot be written to is a failure with a line.
func TestGeneratorFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(generatorRoot, "testdata/generator/01-empty-section")
	var out strings.Builder
	if code := runGenerator([]string{generatorName, file}, &out); code != exitFailure || !strings.HasPrefix(out.String(), "<3>zramfs-generator[") || !strings.Contains(out.String(), "not a directory") {
		t.Errorf("exit code %d, %s", code, out.String())
	}
}
