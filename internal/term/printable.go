// SPDX-License-Identifier: Apache-2.0

package term

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable writes text that others have chosen so that a terminal shows it and does not obey it:
// control characters, the ends of lines among them, formatting characters and bytes that are no
// UTF-8 become escapes as in Go and JSON.
func Printable(text string) string { return printable(text, "") }

// printable is Printable with some control characters left as they are.
func printable(text, keep string) string {
	obeyed := func(r rune) bool {
		return r == utf8.RuneError || !strings.ContainsRune(keep, r) && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}
	if !strings.ContainsFunc(text, obeyed) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch part := text[:size]; {
		case r == utf8.RuneError && size == 1, r < ' ' && obeyed(r):
			fmt.Fprintf(&out, `\x%02x`, part[0])
		case r != utf8.RuneError && obeyed(r):
			for _, unit := range utf16.AppendRune(nil, r) { // which JSON reads as the same text
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		default:
			out.WriteString(part)
		}
		text = text[size:]
	}
	return out.String()
}

// A Printer writes text to Out as [Printable] makes it, but for the ends of lines and tabs. Names
// that hold these go through Printable before. Each write has whole characters.
type Printer struct{ Out io.Writer }

// Write implements io.Writer.
func (p Printer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.Out, printable(string(b), "\n\t")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Raw implements [Raw].
func (p Printer) Raw() io.Writer { return p.Out }

// Raw returns what a writer hands its text on to, for bytes that are to stay as they are: those of
// a bar, a file or a name that a program reads.
func Raw(w io.Writer) io.Writer {
	for {
		by, ok := w.(interface{ Raw() io.Writer })
		if !ok {
			return w
		}
		w = by.Raw()
	}
}
