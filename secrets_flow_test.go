// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// flow adds what a statement or a call hands a secret to.
func (f *secretFlow) flow(p checkedPackage, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if from := n.Rhs[min(i, len(n.Rhs)-1)]; f.secret(p, from) {
				f.addTarget(p, to)
			}
		}
	case *ast.ValueSpec:
		for i, to := range n.Names {
			if len(n.Values) > 0 && f.secret(p, n.Values[min(i, len(n.Values)-1)]) {
				f.addTarget(p, to)
			}
		}
	case *ast.RangeStmt:
		if f.secret(p, n.X) && n.Value != nil {
			f.addTarget(p, n.Value)
		}
	case *ast.CallExpr:
		f.flowCall(p, n)
	case *ast.FuncDecl:
		f.flowResult(p, n)
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && f.secret(p, n.Value) {
			f.add(p.info.Uses[key]) // a field of a literal
		}
	}
}

// addTarget adds the variable or the field that an expression names, if its type holds bytes.
func (f *secretFlow) addTarget(p checkedPackage, to ast.Expr) {
	if tv := p.info.TypeOf(to); tv == nil || !holdsBytes(tv) {
		return
	}
	switch to := to.(type) {
	case *ast.Ident:
		f.add(p.info.ObjectOf(to))
	case *ast.SelectorExpr:
		f.add(p.info.ObjectOf(to.Sel))
	case *ast.IndexExpr:
		f.addTarget(p, to.X)
	case *ast.SliceExpr:
		f.addTarget(p, to.X)
	}
}

// flowCall adds the parameters of our functions that get a secret.
func (f *secretFlow) flowCall(p checkedPackage, c *ast.CallExpr) {
	if calledName(p, c) == "copy" && f.secret(p, c.Args[1]) && whole(c.Args[0]) {
		f.addTarget(p, c.Args[0])
	}
	callee, _ := p.info.ObjectOf(calledIdent(c)).(*types.Func)
	if callee == nil {
		return
	}
	parameters := callee.Signature().Params()
	for i, arg := range c.Args {
		if f.secret(p, arg) && parameters.Len() > 0 {
			if to := parameters.At(min(i, parameters.Len()-1)); holdsBytes(to.Type()) {
				f.add(to)
			}
		}
	}
}

// whole reports whether an expression is a variable as a whole: part of a buffer holds a tag for a
// call, and the buffer other bytes before and after it.
func whole(e ast.Expr) bool {
	s, is := e.(*ast.SliceExpr)
	return !is || s.Low == nil && s.High == nil
}

// flowResult adds a function that returns a secret.
func (f *secretFlow) flowResult(p checkedPackage, d *ast.FuncDecl) {
	if d.Body == nil {
		return
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && slices.ContainsFunc(r.Results, func(e ast.Expr) bool { return f.secret(p, e) }) {
			f.add(p.info.Defs[d.Name])
		}
		_, closure := n.(*ast.FuncLit)
		return !closure
	})
}

// secret reports whether an expression has bytes of a secret.
func (f *secretFlow) secret(p checkedPackage, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return f.secrets[p.info.ObjectOf(e)]
	case *ast.SelectorExpr:
		return f.secrets[p.info.ObjectOf(e.Sel)]
	case *ast.IndexExpr:
		return f.secret(p, e.X)
	case *ast.SliceExpr:
		return f.secret(p, e.X)
	case *ast.ParenExpr:
		return f.secret(p, e.X)
	case *ast.StarExpr:
		return f.secret(p, e.X)
	case *ast.UnaryExpr:
		return f.secret(p, e.X)
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (f.secret(p, e.X) || f.secret(p, e.Y))
	case *ast.CallExpr:
		return f.secretCall(p, e)
	}
	return false
}

// secretCall reports whether a call returns bytes of a secret: a conversion of one, one of our
// functions that returns one, or a function that is given one and returns bytes, as a hash.
func (f *secretFlow) secretCall(p checkedPackage, c *ast.CallExpr) bool {
	if f.secrets[p.info.ObjectOf(calledIdent(c))] {
		return true
	}
	if f.constantTime(p, c) || calledName(p, c) == "len" {
		return false
	}
	if tv := p.info.TypeOf(c); tv == nil || !holdsBytes(tv) {
		return false
	}
	return slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return f.secret(p, e) })
}

// constantTime recognises what compares in constant time: functions of crypto/subtle, and Open of a
// cipher.AEAD, which compares tags.
func (f *secretFlow) constantTime(p checkedPackage, c *ast.CallExpr) bool {
	o := p.info.ObjectOf(calledIdent(c))
	return o != nil && o.Pkg() != nil && (o.Pkg().Path() == "crypto/subtle" || o.Pkg().Path() == "crypto/cipher" && o.Name() == "Open")
}

// judge notes a comparison of a secret.
func (f *secretFlow) judge(p checkedPackage, n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.judgeOperator(p, n)
	case *ast.SwitchStmt:
		if n.Tag != nil && f.compared(p, n.Tag) {
			f.fault(n, "a switch compares a secret")
		}
	case *ast.CaseClause:
		for _, e := range n.List {
			if f.compared(p, e) && !types.Identical(p.info.TypeOf(e), types.Typ[types.Bool]) {
				f.fault(n, "a switch compares with a secret")
			}
		}
	case *ast.IndexExpr:
		if _, is := under(p.info.TypeOf(n.X)).(*types.Map); is && f.secret(p, n.Index) {
			f.fault(n, "a map is asked for a secret")
		}
	case *ast.CallExpr:
		if f.constantTime(p, n) {
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.ContainsFunc(append(n.Args, s.X), func(e ast.Expr) bool { return f.secret(p, e) }) {
				f.checks++
			}
		} else if name := calledName(p, n); slices.Contains(comparers, name) && slices.ContainsFunc(n.Args, func(e ast.Expr) bool { return f.secret(p, e) }) {
			f.fault(n, "%s gets a secret", name)
		}
	}
}

// judgeOperator notes an operator that compares a secret with anything but nil and "".
func (f *secretFlow) judgeOperator(p checkedPackage, b *ast.BinaryExpr) {
	if !slices.Contains([]token.Token{token.EQL, token.NEQ, token.LSS, token.GTR, token.LEQ, token.GEQ}, b.Op) {
		return
	}
	for _, side := range []ast.Expr{b.X, b.Y} {
		tv := p.info.Types[side]
		if tv.IsNil() || tv.Value != nil && tv.Value.ExactString() == `""` {
			return
		}
	}
	if f.compared(p, b.X) || f.compared(p, b.Y) {
		f.fault(b, "%v compares a secret", b.Op)
	}
}

// compared reports whether an operator on this value would compare a secret: one, or a struct with
// one in a field.
func (f *secretFlow) compared(p checkedPackage, e ast.Expr) bool {
	if s, ok := under(p.info.TypeOf(e)).(*types.Struct); ok {
		for i := range s.NumFields() {
			if f.secrets[s.Field(i)] {
				return true
			}
		}
	}
	return f.secret(p, e)
}

func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// holdsBytes reports whether a value of a type has bytes of text: strings, bytes, and arrays and
// slices of them.
func holdsBytes(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0 || t.Kind() == types.Uint8 || t.Kind() == types.Int32 // rune
	case *types.Array:
		return holdsBytes(t.Elem())
	case *types.Slice:
		return holdsBytes(t.Elem())
	case *types.Pointer:
		return holdsBytes(t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			if holdsBytes(v.Type()) {
				return true
			}
		}
	}
	return false
}

// calledIdent is the name of what is called.
func calledIdent(c *ast.CallExpr) *ast.Ident {
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		return fun.Sel
	}
	return &ast.Ident{}
}

// calledName is the name of a function with its package, or of a builtin function.
func calledName(p checkedPackage, c *ast.CallExpr) string {
	o := p.info.ObjectOf(calledIdent(c))
	switch {
	case o == nil:
		return ""
	case o.Pkg() == nil:
		return o.Name()
	}
	return o.Pkg().Path() + "." + o.Name()
}
