// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxExpression = 4096 // bytes
	maxDepth      = 100  // calls and parentheses in each other
)

// Evaluate computes an expression of zram-generator's mini-language, in which ram is the memory of
// the machine in MiB. It has + - * / % ^, the comparisons == != < <= > >=, which are 1 or 0, && and
// ||, parentheses, the functions int ceil floor round abs sign min max log e pi, and numbers with
// the suffixes k M G T of 1000. a && b is a if that is 0, else b; a || b is b if a is 0, else a.
// The result is a finite number.
func Evaluate(text string, ram float64) (float64, error) {
	if len(text) > maxExpression {
		return 0, fmt.Errorf("the expression has %d bytes, at most %d can be read", len(text), maxExpression)
	}
	e := &evaluation{rest: text, ram: ram}
	e.next()
	value, err := e.binary(0)
	if err == nil && e.token != "" {
		err = fmt.Errorf("%q is not expected after a complete expression", e.token)
	}
	if err != nil {
		return 0, err
	}
	return value, nil
}

// An evaluation computes while it reads, since an expression is computed once.
type evaluation struct {
	rest  string // behind the token
	token string // empty at the end
	ram   float64
	depth int
}

// levels are the binary operators, those that bind least first; ^ binds more.
var levels = [...][]string{
	{"||", "or"},
	{"&&", "and"},
	{"==", "!=", "<", "<=", ">", ">="},
	{"+", "-"},
	{"*", "/"},
	{"%"},
}

// next takes a token off the rest.
func (e *evaluation) next() {
	e.rest = strings.TrimLeft(e.rest, " \t")
	n := 0
	switch {
	case e.rest == "":
	case isDigit(e.rest[0]) || e.rest[0] == '.':
		n = numberLength(e.rest)
	case isLetter(e.rest[0]):
		for n < len(e.rest) && (isLetter(e.rest[n]) || isDigit(e.rest[n])) {
			n++
		}
	default:
		n = 1
		for _, two := range []string{"==", "!=", "<=", ">=", "&&", "||"} {
			if strings.HasPrefix(e.rest, two) {
				n = 2
			}
		}
	}
	e.token, e.rest = e.rest[:n], e.rest[n:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// numberLength is the length of the number that text begins with: digits, an exponent, a suffix.
func numberLength(text string) int {
	n := 0
	for n < len(text) && (isDigit(text[n]) || text[n] == '.') {
		n++
	}
	if n+1 < len(text) && text[n]|0x20 == 'e' {
		digits := n + 1
		if text[digits] == '+' || text[digits] == '-' {
			digits++
		}
		for at := digits; at < len(text) && isDigit(text[at]); at++ {
			n = at + 1
		}
	}
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	return n
}

// binary reads operands with the operators of a level between them.
func (e *evaluation) binary(level int) (float64, error) {
	if level == len(levels) {
		return e.unary()
	}
	left, err := e.binary(level + 1)
	for err == nil {
		operator := e.token
		if !slices.Contains(levels[level], operator) {
			return left, nil
		}
		e.next()
		var right float64
		if right, err = e.binary(level + 1); err == nil {
			left, err = apply(operator, left, right)
		}
	}
	return 0, err
}

// unary reads a sign and its operand.
func (e *evaluation) unary() (float64, error) {
	switch sign := e.token; sign {
	case "-", "+", "!":
		if err := e.enter(); err != nil {
			return 0, err
		}
		defer e.leave()
		e.next()
		value, err := e.unary()
		switch sign {
		case "-":
			value = -value
		case "!":
			value = truth(value == 0)
		}
		return value, err
	}
	return e.power()
}

// power reads an operand and what it is raised to: 2^3^2 is 2^9, and -2^2 is -4.
func (e *evaluation) power() (float64, error) {
	base, err := e.operand()
	if err != nil || e.token != "^" {
		return base, err
	}
	if err := e.enter(); err != nil {
		return 0, err
	}
	defer e.leave()
	e.next()
	exponent, err := e.unary()
	if err != nil {
		return 0, err
	}
	return finite("^", math.Pow(base, exponent))
}

// operand reads a number, a name, a call, or an expression in parentheses.
func (e *evaluation) operand() (float64, error) {
	token := e.token
	switch {
	case token == "":
		return 0, errors.New("the expression ends where a number is expected")
	case token == "(":
		values, err := e.list()
		if err == nil && len(values) != 1 {
			err = errors.New("parentheses hold one expression")
		}
		if err != nil {
			return 0, err
		}
		return values[0], nil
	case isDigit(token[0]) || token[0] == '.':
		e.next()
		return number(token)
	case !isLetter(token[0]):
		return 0, fmt.Errorf("%q is not expected where a number is", token)
	}
	e.next()
	if e.token == "(" {
		values, err := e.list()
		if err != nil {
			return 0, err
		}
		return call(token, values)
	}
	if token != "ram" {
		return 0, fmt.Errorf("unknown variable %q: ram, the memory in MiB, is the only one", token)
	}
	return e.ram, nil
}

// list reads expressions in parentheses with commas between them.
func (e *evaluation) list() ([]float64, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	var values []float64
	e.next()
	for e.token != ")" || len(values) > 0 {
		value, err := e.binary(0)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		if e.token == ")" {
			break
		}
		if e.token != "," {
			return nil, fmt.Errorf("a parenthesis is not closed before %q", e.token)
		}
		e.next()
	}
	e.next()
	return values, nil
}

func (e *evaluation) enter() error {
	if e.depth++; e.depth > maxDepth {
		return fmt.Errorf("the expression is nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (e *evaluation) leave() { e.depth-- }

// suffixes are the powers of ten that may follow a number.
var suffixes = map[string]float64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

func number(token string) (float64, error) {
	digits := strings.TrimRight(token, "kKMGT")
	scale, ok := suffixes[token[len(digits):]]
	value, err := strconv.ParseFloat(digits, 64)
	if !ok || errors.Is(err, strconv.ErrSyntax) {
		return 0, fmt.Errorf("%q is not a number", token)
	}
	return finite(token, value*scale)
}

// apply computes one operation.
func apply(operator string, a, b float64) (float64, error) {
	switch operator {
	case "||", "or":
		if a != 0 {
			return a, nil
		}
		return b, nil
	case "&&", "and":
		if a == 0 {
			return a, nil
		}
		return b, nil
	case "==":
		return truth(a == b), nil
	case "!=":
		return truth(a != b), nil
	case "<":
		return truth(a < b), nil
	case "<=":
		return truth(a <= b), nil
	case ">":
		return truth(a > b), nil
	case ">=":
		return truth(a >= b), nil
	case "+":
		return finite(operator, a+b)
	case "-":
		return finite(operator, a-b)
	case "*":
		return finite(operator, a*b)
	}
	if b == 0 {
		return 0, fmt.Errorf("%s by zero", map[string]string{"/": "division", "%": "remainder of a division"}[operator])
	}
	if operator == "%" {
		return math.Mod(a, b), nil
	}
	return finite(operator, a/b)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func finite(of string, value float64) (float64, error) {
	if math.IsNaN(value) {
		return 0, fmt.Errorf("%s gives no real number", of)
	}
	if math.IsInf(value, 0) {
		return 0, fmt.Errorf("%s gives a number that is too large", of)
	}
	return value, nil
}
