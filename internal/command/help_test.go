// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"short", "short"},
		{"one two three", "one two\nthree"},
		{"exactly10c more", "exactly10c\nmore"},
		{"unbreakablelongword", "unbreakablelongword"},
		{"one two three\n\nfour five six", "one two\nthree\n\nfour five\nsix"},
		{"exactly10c\n", "exactly10c\n"},
		{"six of 10c\n", "six of 10c\n"},
		{" unbreakablelongword", " unbreakablelongword"},
		{"1 unbreakablelongword", "1\nunbreakablelongword"},
	}
	for _, test := range tests {
		if got := fold(test.text, 10); got != test.want {
			t.Errorf("fold(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// TestHelp wants every command and flag described, in lines that fit a terminal.
func TestHelp(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	for _, c := range app.Commands {
		if c.Usage == "" {
			t.Errorf("%s: no usage", c.Name)
		}
		var out strings.Builder
		if code := run([]string{"zramfs", c.Name, "--help"}, &out, io.Discard); code != exitOK {
			t.Errorf("%s --help: exit code %d", c.Name, code)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 140 {
				t.Errorf("%s --help: a line of %d characters: %s", c.Name, len(line), line)
			}
		}
		for _, f := range c.VisibleFlags() {
			if !strings.Contains(out.String(), f.Names()[0]) {
				t.Errorf("%s --help does not show %s", c.Name, f.Names()[0])
			}
		}
	}
}
