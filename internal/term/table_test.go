// SPDX-License-Identifier: Apache-2.0

package term

import "testing"

// TestTableLocale wants other bytes than ASCII only where the locale is UTF-8, and no byte that is
// not text anywhere.
func TestTableLocale(t *testing.T) {
	for _, test := range []struct {
		cell, ascii, UTF8 string
	}{
		{"ä", `\xc3\xa4`, "ä"}, {"\xff", `\xff`, `\xff`}, {"a\x1b[31m", `a\x1b[31m`, `a\x1b[31m`}, {`\x41`, `\x5cx41`, `\x5cx41`},
		{`\y`, `\y`, `\y`}, {"\u202e", `\xe2\x80\xae`, `\xe2\x80\xae`}, {"\ufffd", `\xef\xbf\xbd`, "\ufffd"},
	} {
		if got := (Style{}).encodeCell(test.cell); got != test.ascii {
			t.Errorf("%q: %s, want %s", test.cell, got, test.ascii)
		}
		if got := (Style{UTF8: true}).encodeCell(test.cell); got != test.UTF8 {
			t.Errorf("%q in UTF-8: %s, want %s", test.cell, got, test.UTF8)
		}
	}
	for _, test := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false}, {"C", "C.UTF-8", "C.UTF-8", false}, {"", "de_DE.utf8", "C", true}, {"", "", "en_US.UTF-8", true},
		{"", "POSIX", "en_US.UTF-8", false},
	} {
		t.Setenv("LC_ALL", test.all)
		t.Setenv("LC_CTYPE", test.ctype)
		t.Setenv("LANG", test.lang)
		if got := UTF8(); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// Characters are as wide as terminals print them, which is what wcwidth(3) returns.
func TestRuneWidth(t *testing.T) {
	for r, want := range map[rune]int{'a': 1, 'ä': 1, '̈': 0, '漢': 2, '가': 2, 'ﾊ': 1, 'Ａ': 2, '⌚': 2, '🦊': 2, '—': 1, '█': 1, '⣿': 1} {
		if got := RuneWidth(r); got != want {
			t.Errorf("%q has %d columns, want %d", r, got, want)
		}
	}
}
