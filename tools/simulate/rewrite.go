// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// replaced are the names of other packages that package simkernel has as well.
var replaced = map[string][]string{
	"sync":    {"Mutex", "RWMutex", "WaitGroup", "OnceValue"},
	"time":    {"Now", "Since", "Sleep", "After", "NewTimer", "Timer"},
	"runtime": {"GOMAXPROCS", "NumCPU", "LockOSThread", "UnlockOSThread"},
	"unix":    {"Fallocate", "Madvise", "Mmap", "Munmap", "Write", "Gettid", "Tgkill"},
}

// renamed are names that have another one in package simkernel, and functions of a package's own.
var renamed = map[string]string{
	"runtime.Gosched": "simkernel.Yield",
	"receive":         "simkernel.Receive", "transmit": "simkernel.Transmit",
	"openDevice": "simkernel.OpenDevice", "makeMount": "simkernel.MakeMount",
	"copy": "simkernel.Copy",
}

// plain are functions, and types with all methods, that only look at many words, reckon with values
// or fill freed space: a process that dies within one leaves what it leaves before it.
var plain = []string{
	"fill", "check", "Footprint", "Entry", "bySize", "index.each", "index.load", "index.entry", "index.has", "index.word",
	"ages.amend", "ages.age", "ages.aged", "ages.tally", "ages.init", "ages.finish", "ageWalk.begin",
	"Store.rebuild", "Store.victims", "Store.total", "Store.used", "Store.segment", "segment.state", "segment.live", "Recompressor.wanted", "writeback.wanted", "Clusterer.seek", "Clusterer.candidates", "Clusterer.wanted", "Store.sparseAt",
}

// long are methods that take as long as a number of statements: what they read may change before
// they have read it.
var long = map[string]int{"Compress": 30, "Decompress": 30, "CompressCluster": 3000, "DecompressCluster": 100, "Checksum": 30}

// takes is how many statements the calls of a statement take that are long, blocks in it aside.
func takes(s ast.Stmt) (statements int) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt, *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok {
				statements += long[f.Sel.Name]
			}
		}
		return true
	})
	return statements
}

// isPlain reports whether a function is one of plain.
func isPlain(f *ast.FuncDecl) bool {
	of, _, method := strings.Cut(nameOf(f), ".")
	return slices.Contains(plain, nameOf(f)) || method && slices.Contains(plain, of)
}

// nameOf is the name of a function, or of a method behind that of its type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	t, _ := of.(*ast.Ident) // of a generic type there is another expression
	if t == nil {
		return f.Name.Name
	}
	return t.Name + "." + f.Name.Name
}

// keep makes use of what an import may no longer be needed for.
var keep = map[string]string{
	"sync": "sync.Once{}", "time": "time.Second", "runtime": "runtime.GOOS", "golang.org/x/sys/unix": "unix.EIO",
}

// A rewriter collects the edits of a file.
type rewriter struct {
	set    *token.FileSet
	source []byte
	edits  []edit
	plain  bool // within such a function
	err    error
}

// An edit replaces bytes of the source.
type edit struct {
	from, to int
	text     string
}

func (r *rewriter) offset(p token.Pos) int { return r.set.Position(p).Offset }

func (r *rewriter) replace(from, to token.Pos, text string) {
	r.edits = append(r.edits, edit{r.offset(from), r.offset(to), text})
}

func (r *rewriter) insert(at token.Pos, text string) { r.replace(at, at, text) }

func (r *rewriter) text(n ast.Node) string {
	return string(r.source[r.offset(n.Pos()):r.offset(n.End())])
}

// rewrite returns the source of a file as the world wants it.
func rewrite(path string, source []byte) ([]byte, error) {
	r := &rewriter{set: token.NewFileSet(), source: source}
	file, err := parser.ParseFile(r.set, path, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	r.insert(file.Name.End(), `; import "github.com/zramfs/zramfs/internal/simkernel"`)
	for _, d := range file.Decls {
		ast.Inspect(d, r.visit)
	}
	tail := "\nvar _ simkernel.Mutex\n"
	for _, i := range file.Imports {
		if use, ok := keep[strings.Trim(i.Path.Value, `"`)]; ok && i.Name == nil {
			tail += "var _ = " + use + "\n"
		}
	}
	return append(r.apply(), tail...), r.err
}

// apply carries the edits out.
func (r *rewriter) apply() []byte {
	slices.SortStableFunc(r.edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, e := range r.edits {
		if e.from < at { // within what another edit has replaced
			r.err = fmt.Errorf("edits overlap at %q", r.source[e.from:e.to])
			return nil
		}
		out.Write(r.source[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(r.source[at:])
	return out.Bytes()
}

// visit notes the edits of a node.
func (r *rewriter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		r.plain = isPlain(n)
	case *ast.BlockStmt:
		r.steps(n.List)
	case *ast.CaseClause:
		r.steps(n.Body)
	case *ast.SelectStmt:
		return r.selects(n)
	case *ast.GoStmt:
		r.replace(n.Pos(), n.Call.Pos(), "simkernel.Go(func() { ")
		r.insert(n.End(), " })")
	case *ast.SendStmt:
		r.replace(n.Pos(), n.Pos(), "simkernel.Send(")
		r.replace(n.Chan.End(), n.Value.Pos(), ", ")
		r.insert(n.End(), ")")
	case *ast.ExprStmt:
		if u, ok := n.X.(*ast.UnaryExpr); ok && u.Op == token.ARROW {
			r.replace(u.Pos(), u.X.Pos(), "simkernel.Recv(")
			r.insert(u.End(), ")")
		}
	case *ast.CallExpr:
		r.rename(n.Fun)
	case *ast.SelectorExpr:
		r.rename(n)
	}
	return true
}

// rename gives a name of another package, or a called function, its name in package simkernel.
func (r *rewriter) rename(n ast.Node) {
	switch n := n.(type) {
	case *ast.Ident:
		if to, ok := renamed[n.Name]; ok {
			r.replace(n.Pos(), n.End(), to)
		}
	case *ast.SelectorExpr:
		pkg, ok := n.X.(*ast.Ident)
		if !ok || r.seen(n.Pos()) {
			return
		}
		if to, ok := renamed[pkg.Name+"."+n.Sel.Name]; ok {
			r.replace(n.Pos(), n.End(), to)
		} else if slices.Contains(replaced[pkg.Name], n.Sel.Name) {
			r.replace(pkg.Pos(), pkg.End(), "simkernel")
		}
	}
}

// seen reports whether an edit begins there already: a called function is visited twice.
func (r *rewriter) seen(p token.Pos) bool {
	at := r.offset(p)
	return slices.ContainsFunc(r.edits, func(e edit) bool { return e.from == at && e.to > e.from })
}

// steps has each statement of a list begin with a step.
func (r *rewriter) steps(list []ast.Stmt) {
	for _, s := range list {
		if r.plain {
			return
		}
		switch s.(type) {
		case *ast.CaseClause, *ast.CommClause, *ast.EmptyStmt:
		default:
			if n := takes(s); n > 0 {
				r.insert(s.Pos(), fmt.Sprintf("simkernel.Work(%d); ", n))
			}
			r.insert(s.Pos(), "simkernel.Step(); ")
		}
	}
}

// selects turns a select statement whose cases receive no value into a switch over the case that
// the world chooses.
func (r *rewriter) selects(n *ast.SelectStmt) bool {
	var cases []string
	fallback := false
	for i, s := range n.Body.List {
		c := s.(*ast.CommClause)
		switch comm := c.Comm.(type) {
		case nil:
			fallback = true
		case *ast.SendStmt:
			cases = append(cases, fmt.Sprintf("simkernel.S(%s, %s)", r.text(comm.Chan), r.text(comm.Value)))
		case *ast.ExprStmt:
			from := strings.Replace(r.text(comm.X.(*ast.UnaryExpr).X), "time.After", "simkernel.After", 1)
			cases = append(cases, fmt.Sprintf("simkernel.R(%s)", from))
		default:
			r.err = fmt.Errorf("line %d: a select with a value: teach tools/simulate", r.set.Position(comm.Pos()).Line)
			return false
		}
		if c.Comm != nil {
			if fallback {
				i--
			}
			r.replace(c.Comm.Pos(), c.Comm.End(), fmt.Sprint(i))
		}
		r.steps(c.Body)
		for _, s := range c.Body {
			ast.Inspect(s, r.visit)
		}
	}
	if !fallback { // a statement that ends a function goes on doing so
		r.insert(n.Body.Rbrace, "default: panic(`no case`) ")
	}
	r.replace(n.Pos(), n.Body.Pos(), fmt.Sprintf("switch simkernel.Select(%v, %s) ", fallback, strings.Join(cases, ", ")))
	return false
}
