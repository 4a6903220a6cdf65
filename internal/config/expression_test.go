// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math"
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	for _, test := range []struct {
		text string
		want float64
	}{
		{"ram / 2", 4096},
		{"min(ram / 2, 4096)", 4096},
		{"min(min(ram, 4096) + max(ram - 4096, 0) / 2, 32 * 1024)", 6144},
		{"(ram < 4096) * ram + (ram >= 4096) * 4096", 4096},
		{"ram <= 1024 && 512 || ram <= 8192 && 2048 || 9", 2048},
		{"ram > 9000 and 1 or 2", 2},
		{"1 + 2 * 3 - 4 / 2", 5},
		{"10 - 3 - 2", 5},
		{"2 * 7 % 4", 6},
		{"2 ^ 3 ^ 2", 512},
		{"-2 ^ 2", -4},
		{"2 ^ -1", 0.5},
		{"--3 + +1", 4},
		{"!0 + !5", 1},
		{"2k + 1K + 1M", 1003000},
		{"1.5e3 + .5", 1500.5},
		{"1e-1", 0.1},
		{"7.5 % 2", 1.5},
		{"int(-1.5) + ceil(1.2) + floor(1.8) + round(2.5) + abs(-1) + sign(-9)", 5},
		{"round(256, 1000)", 1024},
		{"log(1000) + log(2, 1024)", 13},
		{"max(1, 3, 2)", 3},
		{"pi() - e()", math.Pi - math.E},
		{"1 == 1 != 0", 1},
	} {
		got, err := Evaluate(test.text, 8192)
		if err != nil || math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s = %v, %v; want %v", test.text, got, err, test.want)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "the expression ends where a number is expected"},
		{"ram /", "the expression ends where a number is expected"},
		{"ram / 0", "division by zero"},
		{"ram % (1 - 1)", "remainder of a division by zero"},
		{"(-1) ^ 0.5", "^ gives no real number"},
		{"log(-1)", "log() gives no real number"},
		{"log(0)", "log() gives a number that is too large"},
		{"1e300 * 1e300", "* gives a number that is too large"},
		{"1e999", "1e999 gives a number that is too large"},
		{"10 ^ 400", "^ gives a number that is too large"},
		{"ram ram", `"ram" is not expected after a complete expression`},
		{"ram)", `")" is not expected after a complete expression`},
		{"(ram", `a parenthesis is not closed before ""`},
		{"()", "parentheses hold one expression"},
		{"min()", "min takes one argument or more, not 0"},
		{"abs(1, 2)", "abs takes 1 argument, not 2"},
		{"log(1, 2, 3)", "log takes 1 or 2 arguments, not 3"},
		{"floot(1)", `unknown function "floot"; did you mean floor?`},
		{"hypot(1)", `unknown function "hypot"; there are abs, `},
		{"memory / 2", `unknown variable "memory": ram, the memory in MiB, is the only one`},
		{"1.2.3", `"1.2.3" is not a number`},
		{"2kk", `"2kk" is not a number`},
		{"2Mi", `"2Mi" is not a number`},
		{"1 = 1", `"=" is not expected after a complete expression`},
		{"* 2", `"*" is not expected where a number is`},
		{"$(reboot)", `"$" is not expected where a number is`},
		{strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101), "the expression is nested deeper than 100 levels"},
		{strings.Repeat("-", 200) + "1", "the expression is nested deeper than 100 levels"},
		{strings.Repeat("2^", 200) + "1", "the expression is nested deeper than 100 levels"},
		{strings.Repeat("1+", 2048) + "1", "the expression has 4097 bytes, at most 4096 can be read"},
	} {
		got, err := Evaluate(test.text, 8192)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.40s = %v, %v; want %s", test.text, got, err, test.want)
		}
	}
	if got, err := Evaluate(strings.Repeat("(", 99)+"1"+strings.Repeat(")", 99), 1); got != 1 || err != nil {
		t.Errorf("99 levels: %v, %v", got, err)
	}
}

// Every expression gives a finite number or an error.
func FuzzEvaluate(f *testing.F) {
	for _, text := range []string{"ram / 2", "min(ram % 7, 4k) ^ -2", "1e9 ^ 1e9", "ram < 5 && 2 || !0", "log(0, 0)", "((((", "round(0, 1)"} {
		f.Add(text, 8192.0)
	}
	f.Fuzz(func(t *testing.T, text string, ram float64) {
		if math.IsNaN(ram) || math.IsInf(ram, 0) {
			return
		}
		value, err := Evaluate(text, ram)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			t.Errorf("%q is %v, %v", text, value, err)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("%q: an error without a text", text)
		}
	})
}
