// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// secretFields are the fields with what is secret, or what tells a forger how much of a forgery is
// right: the token of serve, the key of a backing device, and the tag of a block there.
var secretFields = map[string][]string{
	"internal/web":         {"options.token"},
	"store/internal/image": {"Stub.Tag"},
	"store":                {"Secret.mem", "sealer.aead"},
}

// comparers are functions that stop at the first difference.
var comparers = []string{"bytes.Equal", "bytes.EqualFold", "bytes.Compare", "bytes.HasPrefix", "bytes.HasSuffix", "bytes.Contains", "bytes.Index",
	"strings.EqualFold", "strings.Compare", "strings.HasPrefix", "strings.HasSuffix", "strings.Contains", "strings.Index",
	"slices.Equal", "slices.Compare", "slices.Contains", "slices.Index", "maps.Equal", "reflect.DeepEqual", "cmp.Compare"}

// A checked package is one with its types.
type checkedPackage struct {
	path  string // in the module
	files []*ast.File
	info  *types.Info
}

// A secretFlow follows secrets through the packages that hold them: from variable to variable, and
// into parameters and results of functions.
type secretFlow struct {
	fset    *token.FileSet
	all     []checkedPackage
	secrets map[types.Object]bool
	grown   bool
	checks  int // comparisons in constant time that were met
	faults  []string
}

// F084: the time that a comparison of a secret takes does not tell how much of it is right: what
// holds it meets no ==, no switch, no key of a map and no function that stops at a difference, but
// crypto/subtle and crypto/cipher.
func TestF084SecretsAreComparedInConstantTime(t *testing.T) {
	f := followSecrets(t, nil)
	for _, fault := range f.faults {
		t.Error(fault)
	}
	if f.checks < 2 { // of the token, and of the tag of a block
		t.Errorf("%d comparisons in constant time", f.checks)
	}
}

// The check finds comparisons that are planted in the source.
func TestF084FindsPlantedComparisons(t *testing.T) {
	const (
		guard   = "internal/web/guard.go"
		sealing = "store/sealing.go"
		subtle  = "subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok"
		opens   = "if _, err := c.aead.Open"
	)
	for _, p := range []struct{ file, old, fresh, want string }{
		{guard, subtle, "given == token && ok", "=="},
		{guard, subtle, "a == b && ok", "=="},
		{guard, subtle, "string(a[:]) != string(b[:]) || ok", "!="},
		{guard, subtle, "strings.EqualFold(given, token) && ok", "strings.EqualFold"},
		{guard, subtle, "map[string]bool{given: true}[token] && ok", "map"},
		{guard, "\ta, b := sha256", "\tswitch given {\n\tcase token:\n\t\treturn true\n\t}\n\ta, b := sha256", "switch"},
		{guard, "\ta, b := sha256", "\tfor i := range given {\n\t\tif given[i] != token[i] {\n\t\t\treturn false\n\t\t}\n\t}\n\ta, b := sha256", "!="},
		{sealing, opens, "if was := st.Tag; was != (image.Stub{}).Tag {\n\t\treturn nil, nil\n\t}\n\t" + opens, "!="},
		{sealing, opens, "if *st == (image.Stub{}) {\n\t\treturn nil, nil\n\t}\n\t" + opens, "=="},
		{sealing, "block, err := aes", "if string(key[:4]) == \"test\" {\n\t\treturn nil, nil\n\t}\n\tblock, err := aes", "=="},
	} {
		text, err := os.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		planted := strings.Replace(string(text), p.old, p.fresh, 1)
		if planted == string(text) {
			t.Fatalf("%s has no %q", p.file, p.old)
		}
		f := followSecrets(t, map[string]string{p.file: planted})
		if !slices.ContainsFunc(f.faults, func(s string) bool { return strings.HasPrefix(s, p.file) && strings.Contains(s, p.want) }) {
			t.Errorf("%s: %q is not found: %q", p.file, p.fresh, f.faults)
		}
	}
}

// followSecrets checks the packages with secrets, with some files changed.
func followSecrets(t *testing.T, changed map[string]string) *secretFlow {
	t.Helper()
	f := &secretFlow{fset: token.NewFileSet(), secrets: map[types.Object]bool{}}
	sources, exports := withExports(t)
	known := importer.ForCompiler(f.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	// Packages in the order of their imports, so that an object is the same in all of them.
	own := map[string]*types.Package{}
	for _, path := range []string{"internal/web", "store/internal/image", "store"} {
		p := checkedPackage{path: path, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}}
		for _, name := range sources[module+"/"+path] {
			name = filepath.Join(path, name)
			var text any
			if fresh, ok := changed[name]; ok {
				text = fresh
			}
			file, err := parser.ParseFile(f.fset, name, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, file)
		}
		config := types.Config{Importer: importers{own, known}, Error: func(err error) {
			if !strings.Contains(err.Error(), "imported and not used") && !strings.Contains(err.Error(), "declared and not used") { // by what is planted
				t.Error(err)
			}
		}}
		pkg, _ := config.Check(module+"/"+path, f.fset, p.files, p.info) // Error has each
		own[module+"/"+path] = pkg
		f.all = append(f.all, p)
		for _, field := range secretFields[path] {
			typ, name, _ := strings.Cut(field, ".")
			f.add(fieldOf(t, pkg, typ, name))
		}
	}
	f.follow()
	return f
}

// importers looks for a package among ours first.
type importers struct {
	own   map[string]*types.Package
	other types.Importer
}

func (i importers) Import(path string) (*types.Package, error) {
	if p := i.own[path]; p != nil {
		return p, nil
	}
	return i.other.Import(path)
}

// listExports has go list compile the packages with secrets, once.
var listExports = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,GoFiles,Export", "./internal/web", "./store").Output()
})

// withExports returns the files of packages, and the files with their exported types.
func withExports(t *testing.T) (sources map[string][]string, exports map[string]string) {
	t.Helper()
	out, err := listExports()
	if err != nil {
		t.Fatal(err)
	}
	sources, exports = map[string][]string{}, map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return sources, exports
		} else if err != nil {
			t.Fatal(err)
		}
		sources[p.ImportPath], exports[p.ImportPath] = p.GoFiles, p.Export
	}
}

func fieldOf(t *testing.T, pkg *types.Package, typ, name string) types.Object {
	t.Helper()
	of := pkg.Scope().Lookup(typ)
	if of == nil {
		t.Fatalf("%s has no type %s", pkg.Path(), typ)
	}
	s := of.Type().Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if s.Field(i).Name() == name {
			return s.Field(i)
		}
	}
	t.Fatalf("%s.%s has no field %s", pkg.Path(), typ, name)
	return nil
}

// follow adds what secrets flow to until that is all, and then looks at how it is used.
func (f *secretFlow) follow() {
	for f.grown = true; f.grown; {
		f.grown = false
		f.each(func(p checkedPackage, n ast.Node) { f.flow(p, n) })
	}
	f.each(func(p checkedPackage, n ast.Node) { f.judge(p, n) })
}

func (f *secretFlow) each(visit func(checkedPackage, ast.Node)) {
	for _, p := range f.all {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if n != nil {
					visit(p, n)
				}
				return true
			})
		}
	}
}

func (f *secretFlow) add(o types.Object) {
	if o != nil && !f.secrets[o] {
		f.secrets[o], f.grown = true, true
	}
}

// fault notes what is wrong at a place.
func (f *secretFlow) fault(n ast.Node, format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf("%s: %s", f.fset.Position(n.Pos()), fmt.Sprintf(format, args...)))
}
