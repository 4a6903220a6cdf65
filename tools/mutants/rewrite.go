// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// A mutant is a place in a source where the compiled program does otherwise while the mutant's
// number is the active one.
type mutant struct {
	number int // its argument in the rewritten source, and its place in the file of those met
	file   string
	line   int
	in     string // the function
	change string // what it was, and what it is
	edits  []edit
}

// name tells a mutant from others, with no line in it, so that it stays the same as sources change.
func (m *mutant) name() string { return fmt.Sprintf("%s %s: %s", m.file, m.in, m.change) }

// An edit replaces the bytes from off to before end. Where text is inserted at one offset, what
// closes stands before what opens.
type edit struct {
	off, end int
	text     string // %d is the mutant's number
	closes   bool
}

// A finder collects the mutants of a file in the order of an outer expression before its parts.
type finder struct {
	file    string
	source  []byte
	tokens  *token.File
	info    *types.Info
	in      string
	mutants []*mutant
	stays   map[ast.Node]bool // statements that cannot stand in an if
}

func (f *finder) off(p token.Pos) int { return f.tokens.Offset(p) }

// text is a node as one short line.
func (f *finder) text(from, to token.Pos) string {
	s := strings.Join(strings.Fields(string(f.source[f.off(from):f.off(to)])), " ")
	if r := []rune(s); len(r) > 70 {
		s = string(r[:67]) + "..."
	}
	return s
}

func (f *finder) add(at ast.Node, to string, edits ...edit) {
	f.mutants = append(f.mutants, &mutant{
		file: f.file, line: f.tokens.Line(at.Pos()), in: f.in, change: fmt.Sprintf("`%s` %s", f.text(at.Pos(), at.End()), to), edits: edits,
	})
}

// around puts text before and behind a node.
func (f *finder) around(n ast.Node, before, behind string) []edit {
	off, end := f.off(n.Pos()), f.off(n.End())
	return []edit{{off: off, end: off, text: before}, {off: end, end: end, text: behind, closes: true}}
}

// negate has a condition be its opposite.
func (f *finder) negate(e ast.Expr, to string) {
	f.add(e, to, f.around(e, "((", ") != mutating_.On(%d))")...)
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.in = n.Name.Name
		if n.Type.TypeParams != nil {
			return false
		}
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IncDecStmt:
		f.incDec(n)
	case *ast.AssignStmt:
		f.assign(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.negate(n, "without !")
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ReturnStmt:
		f.results(n)
	}
	return true
}

// condition negates what has no operator to change.
func (f *finder) condition(e ast.Expr) {
	switch e.(type) {
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr:
		f.negate(e, "negated")
	}
}

// results has a boolean literal be its opposite, and no error be returned.
func (f *finder) results(r *ast.ReturnStmt) {
	for _, e := range r.Results {
		t := f.info.Types[e]
		switch {
		case t.Value != nil && types.Identical(t.Type.Underlying(), types.Typ[types.Bool]):
			f.negate(e, "negated")
		case t.Type != nil && !t.IsNil() && types.Identical(t.Type, types.Universe.Lookup("error").Type()):
			if _, multiple := t.Type.(*types.Tuple); !multiple {
				f.add(e, "returned as nil", f.around(e, "mutating_.Err(%d, ", ")")...)
			}
		}
	}
}

// statements leaves out one statement of a list.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); !ok || spared.MatchString(f.text(c.Pos(), c.End())) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok != token.ASSIGN || f.text(s.Lhs[0].Pos(), s.Lhs[0].End()) == "_" && f.idle(s.Rhs[0]) {
				continue
			}
		case *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		default:
			continue
		}
		f.add(s, "left out", f.around(s, "if mutating_.Off(%d) { ", " }")...)
	}
}

// spared are calls that stay: panics, and the points at which tests end a process, which no release
// has.
var spared = regexp.MustCompile(`^(panic|invariant\.Point|killpoint\.At)\(`)

// idle reports whether an expression does nothing.
func (f *finder) idle(e ast.Expr) bool {
	_, call := e.(*ast.CallExpr)
	return !call
}

// integer reports whether the values of an expression are integers, of a type with a name.
func (f *finder) integer(e ast.Expr) bool {
	t := f.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	_, parameter := t.(*types.TypeParam)
	return ok && !parameter && b.Info()&types.IsInteger != 0
}

// addressable reports whether & of an operand compiles.
func (f *finder) addressable(e ast.Expr) bool {
	if x, ok := e.(*ast.IndexExpr); ok {
		if _, isMap := f.info.Types[x.X].Type.Underlying().(*types.Map); isMap {
			return false
		}
	}
	return f.info.Types[e].Addressable()
}

func (f *finder) incDec(s *ast.IncDecStmt) {
	if !f.integer(s.X) || !f.addressable(s.X) {
		return
	}
	call, to := "Inc", "--"
	if s.Tok == token.DEC {
		call, to = "Dec", "++"
	}
	off := f.off(s.TokPos)
	begin := f.off(s.Pos())
	f.add(s, "to `"+to+"`", edit{off: begin, end: begin, text: "mutating_." + call + "(%d, &"}, edit{off: off, end: off + 2, text: ")"})
}

func (f *finder) assign(s *ast.AssignStmt) {
	change, ok := map[token.Token][2]string{
		token.ADD_ASSIGN: {"AddTo", "-="}, token.SUB_ASSIGN: {"SubFrom", "+="}, token.OR_ASSIGN: {"OrTo", "&="},
	}[s.Tok]
	if !ok || !f.integer(s.Lhs[0]) || !f.addressable(s.Lhs[0]) {
		return
	}
	edits := f.around(s, "mutating_."+change[0]+"(%d, &", ")")
	off := f.off(s.TokPos)
	edits = append(edits, edit{off: off, end: off + len(s.Tok.String()), text: ", "})
	f.add(s, "to `"+change[1]+"`", edits...)
}

// exchanged are calls and operators in the place of one.
var exchanged = map[token.Token][2]string{
	token.LSS: {"Lt", "<="}, token.LEQ: {"Le", "<"}, token.GTR: {"Gt", ">="}, token.GEQ: {"Ge", ">"},
	token.ADD: {"Add", "-"}, token.SUB: {"Sub", "+"}, token.MUL: {"Mul", "/"}, token.QUO: {"Div", "*"}, token.REM: {"Rem", "*"},
	token.AND: {"And", "|"}, token.OR: {"Or", "&"}, token.SHL: {"Shl", ">>"}, token.SHR: {"Shr", "<<"},
}

func (f *finder) binary(e *ast.BinaryExpr) {
	if f.info.Types[e].Value != nil { // a constant
		return
	}
	off := f.off(e.OpPos)
	end := off + len(e.Op.String())
	switch e.Op {
	case token.LAND, token.LOR: // each operand and the result are turned, by De Morgan
		to := "&&"
		if e.Op == token.LAND {
			to = "||"
		}
		edits := f.around(e, "((((", ") != mutating_.On(%d))) != mutating_.On(%[1]d))")
		f.add(e, "to `"+to+"`", append(edits, edit{off: off, end: end, text: ") != mutating_.On(%d)) " + e.Op.String() + " (("})...)
		return
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.negate(e, "negated")
	}
	change, ok := exchanged[e.Op]
	if ordered := e.Op == token.LSS || e.Op == token.LEQ || e.Op == token.GTR || e.Op == token.GEQ; !ok || !ordered && !f.integer(e) {
		return
	}
	edits := f.around(e, "mutating_."+change[0]+"(%d, ", ")")
	edits[0].text += f.conversion(e.X)
	middle := ", " + f.conversion(e.Y)
	if f.conversion(e.X) != "" {
		middle = ")" + middle
	}
	if f.conversion(e.Y) != "" {
		edits[1].text += ")"
	}
	f.add(e, "to `"+change[1]+"`", append(edits, edit{off: off, end: end, text: middle})...)
}

// conversion opens a conversion to the type that a constant has where it stands.
func (f *finder) conversion(e ast.Expr) string {
	t := f.info.Types[e]
	if b, ok := t.Type.(*types.Basic); ok && t.Value != nil && b.Info()&types.IsUntyped == 0 {
		return b.Name() + "("
	}
	return ""
}

// rewrite is the source with the edits of some of its mutants, on the same lines.
func rewrite(source []byte, mutants []*mutant) []byte {
	type placed struct {
		edit
		order, number int
	}
	var all []placed
	for i, m := range mutants {
		for _, e := range m.edits {
			p := placed{e, i, m.number}
			if e.closes {
				p.order = -i
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		switch {
		case a.off != b.off:
			return a.off - b.off
		case a.closes != b.closes:
			if a.closes {
				return -1
			}
			return 1
		}
		return a.order - b.order
	})
	var out []byte
	at := 0
	for _, p := range all {
		out = append(out, source[at:p.off]...)
		if at = p.end; strings.Contains(p.text, "%") {
			out = fmt.Appendf(out, p.text, p.number)
		} else {
			out = append(out, p.text...)
		}
	}
	return append(out, source[at:]...)
}
