// SPDX-License-Identifier: Apache-2.0

package term

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"/run/zram café 日本 \U0001f600 \uFFFD": "/run/zram café 日本 \U0001f600 \uFFFD",
		"a\x1b]0;t\ab":        `a\x1b]0;t\x07b`,
		"a\nb\tc\r":           `a\x0ab\x09c\x0d`,
		"caf\xe9":             `caf\xe9`,
		"\x7f\u0085\u009b31m": `\u007f\u0085\u009b31m`,
		"\u202eexe.txt\u2066": `\u202eexe.txt\u2066`,
		"\u2028\U000e0041":    `\u2028\udb40\udc41`,
		`a\b`:                 `a\b`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// JSON that goes through a Printer means the same, lines keep their ends, and Raw is behind it.
func TestPrinter(t *testing.T) {
	var out strings.Builder
	p := Printer{&out}
	var all string
	for r := range rune(0x2100) {
		all += string(r)
	}
	all += "\U000e0041\U0001f600"
	if err := json.NewEncoder(p).Encode(all); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got != all {
		t.Errorf("%v: %q", err, got)
	}
	out.Reset()
	if n, err := p.Write([]byte("a\tb\x1b\n")); n != 5 || err != nil || out.String() != "a\tb\\x1b\n" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
	if Raw(p) != &out || Raw(&out) != &out {
		t.Error("Raw has not found the writer")
	}
}
