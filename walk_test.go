// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// step matches a line of doc.go that names a file and a function or method in it.
var step = regexp.MustCompile(`(?m)^\t(\S+\.go) +(\w+)\.(\w+)  ?`)

// The walks of doc.go name existing functions, and each but the first is called by one above it.
func TestHouseDocWalksThePagePath(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	bodies := methods(t)
	_, walks, _ := strings.Cut(string(text), "\n# One page in\n")
	for walk := range strings.SplitSeq(walks, "\n# ") {
		called := map[string]bool{}
		steps := step.FindAllStringSubmatch(walk, -1)
		if len(steps) < 10 {
			t.Errorf("a walk has %d steps, at least 10 are expected", len(steps))
		}
		for i, s := range steps {
			file, receiver, name := s[1], s[2], s[3]
			body := bodies[file+" "+receiver+"."+name]
			switch {
			case body == nil:
				t.Errorf("doc.go: %s has no %s.%s", file, receiver, name)
				continue
			case i > 0 && !called[name]:
				t.Errorf("doc.go: no function above %s.%s calls it", receiver, name)
			}
			ast.Inspect(body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if s, ok := c.Fun.(*ast.SelectorExpr); ok {
						called[s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
}

// methods returns the bodies of all methods, by file and name.
func methods(t *testing.T) map[string]*ast.BlockStmt {
	t.Helper()
	all := map[string]*ast.BlockStmt{}
	goFiles(t, func(path string, file *ast.File, _ string) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok {
				all[path+" "+id.Name+"."+f.Name.Name] = f.Body
			}
		}
	})
	return all
}
