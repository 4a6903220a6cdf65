// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/term"
)

// A function has its least and its greatest number of arguments.
type function struct {
	least, most int
	of          func([]float64) float64
}

// anyNumber of arguments: the length of an expression bounds it.
const anyNumber = maxExpression

var functions = map[string]function{
	"int":   {1, 1, func(v []float64) float64 { return math.Trunc(v[0]) }},
	"ceil":  {1, 1, func(v []float64) float64 { return math.Ceil(v[0]) }},
	"floor": {1, 1, func(v []float64) float64 { return math.Floor(v[0]) }},
	"abs":   {1, 1, func(v []float64) float64 { return math.Abs(v[0]) }},
	"sign":  {1, 1, func(v []float64) float64 { return truth(v[0] > 0) - truth(v[0] < 0) }},
	"round": {1, 2, round},
	"log":   {1, 2, logarithm},
	"min":   {1, anyNumber, slices.Min[[]float64]},
	"max":   {1, anyNumber, slices.Max[[]float64]},
	"e":     {0, 0, func([]float64) float64 { return math.E }},
	"pi":    {0, 0, func([]float64) float64 { return math.Pi }},
}

// round rounds to a multiple of the first argument, if there are two.
func round(v []float64) float64 {
	if len(v) == 1 {
		return math.Round(v[0])
	}
	return math.Round(v[1]/v[0]) * v[0]
}

// logarithm is that to the base of the first argument, if there are two, else to the base of ten.
func logarithm(v []float64) float64 {
	if len(v) == 1 {
		return math.Log10(v[0])
	}
	return math.Log(v[1]) / math.Log(v[0])
}

// call computes a function.
func call(name string, values []float64) (float64, error) {
	f, ok := functions[name]
	if !ok {
		known := slices.Sorted(maps.Keys(functions))
		if near := term.Nearest(name, known); near != "" {
			return 0, fmt.Errorf("unknown function %q; did you mean %s?", name, near)
		}
		return 0, fmt.Errorf("unknown function %q; there are %s", name, strings.Join(known, ", "))
	}
	if len(values) < f.least || len(values) > f.most {
		return 0, fmt.Errorf("%s takes %s, not %d", name, arguments(f), len(values))
	}
	return finite(name+"()", f.of(values))
}

func arguments(f function) string {
	switch {
	case f.most == anyNumber:
		return "one argument or more"
	case f.least != f.most:
		return fmt.Sprintf("%d or %d arguments", f.least, f.most)
	}
	return term.Plural(f.most, "argument", "arguments")
}
