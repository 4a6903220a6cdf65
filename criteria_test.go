// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"go/ast"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// That go vet finds nothing is a matter of TestF088EveryTagBuilds.
func TestF080CheckptrIsClean(t *testing.T) {
	goTool(t, "test", "-gcflags=github.com/zramfs/zramfs/...=-d=checkptr", "-short", "-run", "^TestModel$|^TestReadsBack", "./store")
}

// panicking lists where panic may be called: for a broken invariant of ours, never for input. The
// generators in codec/_asm, which take no input, may use it freely.
var panicking = map[string]string{
	"store/internal/image/superblock.go": "a struct of integers always encodes",
	"store/object.go":                    "build tag invariants: what was placed does not read back",
	"internal/killpoint/on.go":           "build tags invariants and race: a process that cannot kill itself",
	"internal/pages/generate.go":         "a test names a kind that does not exist",
	"codec/internal/codectest/stream.go": "a test is told to run over a number of pages that is no number",
	"internal/simkernel/sync_linux.go":   "production code unlocks what is not locked",
	"internal/simkernel/world_linux.go":  "a test waits where no task runs",
	"codec/internal/impl/impl.go":        "a table that lacks its generic implementation",
}

func TestF081NoPanicOnInput(t *testing.T) {
	calls(t, func(path string, c *ast.CallExpr, _ ast.Node) {
		if name, ok := c.Fun.(*ast.Ident); ok && name.Name == "panic" && panicking[path] == "" && !strings.HasPrefix(path, "codec/_asm/") {
			t.Errorf("%s: a panic that is not among the accepted ones", path)
		}
	})
}

// An error with a cause wraps it, so that errors.Is finds it.
func TestF082ErrorsWrapTheirCauses(t *testing.T) {
	calls(t, func(path string, c *ast.CallExpr, _ ast.Node) {
		if pkg, name := selector(c); pkg != "fmt" || name != "Errorf" {
			return
		}
		format, ok := c.Args[0].(*ast.BasicLit)
		if !ok {
			return
		}
		causes := 0
		for _, arg := range c.Args[1:] {
			if id, ok := arg.(*ast.Ident); ok && (id.Name == "err" || strings.HasSuffix(id.Name, "Err") || strings.HasPrefix(id.Name, "Err")) {
				causes++
			}
		}
		if strings.Count(format.Value, "%w") < causes {
			t.Errorf("%s: Errorf(%s, ...) does not wrap its cause", path, format.Value)
		}
	})
}

// throwable lists the calls whose answer may be discarded by an assignment to _.
var throwable = []string{"unix.Close", "unix.CloseRange"}

// The answer of every system call is used: no call is a statement of its own, deferred or not.
func TestF085SystemCallsAreChecked(t *testing.T) {
	calls(t, func(path string, c *ast.CallExpr, parent ast.Node) {
		pkg, name := selector(c)
		if pkg != "unix" && pkg != "syscall" || name == "Exit" { // which has no answer
			return
		}
		switch s := parent.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
			t.Errorf("%s: the answer of %s.%s is ignored", path, pkg, name)
		case *ast.AssignStmt:
			if allBlank(s.Lhs) && !slices.Contains(throwable, pkg+"."+name) {
				t.Errorf("%s: the answer of %s.%s is thrown away", path, pkg, name)
			}
		}
	})
}

func TestF094BuildsWithTheGoOfItsModule(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(mod), "\ngo ")
	if !ok || strings.Contains(string(mod), "\ntoolchain ") {
		t.Fatal("go.mod names no Go version, or a toolchain besides")
	}
	version, _, _ := strings.Cut(rest, "\n")
	goTool(t, "build", "-mod=readonly", "-gcflags=github.com/zramfs/zramfs/...=-lang=go"+strings.Join(strings.Split(version, ".")[:2], "."), "-o", os.DevNull, "./cmd/zramfs")
}

// calls visits every call outside of tests, with its statement.
func calls(t *testing.T, f func(path string, c *ast.CallExpr, parent ast.Node)) {
	t.Helper()
	goFiles(t, func(path string, file *ast.File, _ string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		var stack []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if c, ok := n.(*ast.CallExpr); ok && len(stack) > 0 {
				f(path, c, stack[len(stack)-1])
			}
			stack = append(stack, n)
			return true
		})
	})
}

func selector(c *ast.CallExpr) (pkg, name string) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name, s.Sel.Name
	}
	return "", ""
}

func allBlank(lhs []ast.Expr) bool {
	return !slices.ContainsFunc(lhs, func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return !ok || id.Name != "_"
	})
}
