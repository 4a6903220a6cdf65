// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// outside are the files of fusefs that are compiled as they are and yet use what the world has,
// with these uses, because the simulation does not reach them or may see the machine's.
var outside = map[string]string{
	"attributes_size.go": "time",    // waits for the keeper, which the simulation has not
	"copies_linux.go":    "unix",    // mounts of other namespaces
	"errno.go":           "time",    // how often the log has a line
	"fusefs.go":          "runtime", // the number of processors, which the session draws by itself
	"userquota.go":       "time",    // how often a user's contents are made
}

// worldly returns what a file uses that package simkernel has as well: packages, functions,
// goroutines and channels.
func worldly(source []byte) (string, error) {
	r := &rewriter{set: token.NewFileSet(), source: source}
	file, err := parser.ParseFile(r.set, "", source, 0)
	if err != nil {
		return "", err
	}
	var used []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			used = append(used, "go")
		case *ast.SelectStmt, *ast.SendStmt:
			used = append(used, "channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				used = append(used, "channel")
			}
		case *ast.CallExpr:
			r.rename(n.Fun)
		case *ast.SelectorExpr:
			r.rename(n)
		}
		return true
	})
	for _, e := range r.edits {
		used = append(used, string(source[e.from:e.to]))
	}
	slices.Sort(used)
	return strings.Join(slices.Compact(used), " "), nil
}

// TestNoFileIsForgotten wants each file of fusefs that takes requests, waits or asks the time among
// those that are rewritten, or above with a reason: the simulation would run it on the machine.
func TestNoFileIsForgotten(t *testing.T) {
	dir := filepath.Join("..", "..", "fusefs")
	files, err := sources(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range rewritten["fusefs"] {
		if !slices.Contains(files, name) {
			t.Errorf("fusefs has no file %s", name)
		}
	}
	known := maps.Clone(outside)
	for _, name := range files {
		if slices.Contains(rewritten["fusefs"], name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		used, err := worldly(text)
		if err != nil {
			t.Fatal(err)
		}
		if used != known[name] {
			t.Errorf("fusefs/%s uses %q of the world, known is %q: rewrite it in the simulation, or say why not", name, used, known[name])
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("fusefs/%s is not there, or is rewritten", name)
	}
}

// TestWorldlyIsSeen proves that the test above finds what a file uses.
func TestWorldlyIsSeen(t *testing.T) {
	used, err := worldly([]byte("package fusefs\nfunc f(c chan int, b []byte) { go f(c, b); <-c; transmit(0, b); time.Now() }\n"))
	if want := "channel go time transmit"; err != nil || used != want {
		t.Errorf("%q, %v, want %q", used, err, want)
	}
}

// TestPlainIsThere wants each function and type of plain in a package that is rewritten: one that
// has another name now would cost the simulation a step for each word it looks at.
func TestPlainIsThere(t *testing.T) {
	there := map[string]bool{}
	for pkg := range rewritten {
		dir := filepath.Join("..", "..", pkg)
		files, err := sources(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && isPlain(f) {
					of, _, _ := strings.Cut(nameOf(f), ".")
					there[nameOf(f)], there[of] = true, true
				}
			}
		}
	}
	for _, name := range plain {
		if !there[name] {
			t.Errorf("no package that is rewritten has %s", name)
		}
	}
}
