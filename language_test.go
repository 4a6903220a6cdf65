// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxCommentWidth is the width of a comment line in columns, a tab being four.
const maxCommentWidth = 100

// impersonal matches words that leave out who acts, or when. A sentence names the caller, the
// writer, the worker, the kernel or the page instead.
var impersonal = phrases(`(?i)\b(whoever|whomever|whosoever|somebody|someone|nobody|no one|anybody|anyone|everybody|everyone|` +
	`those who|who (?:has|is|does|wants|waits|holds|makes|asks|calls|reads|writes|uses|gives|takes|comes|goes|keeps|lets|may|must|can|needs|serves|stops)|` +
	`what it is to|besides?|of which|for want of|so many|any more|meanwhile|such an? one|one that is|the like of it|be it)\b`)

// opening matches a sentence that begins with another word than its subject, up to its end.
var opening = phrases(`(?m)(?:^|[.!?:] )(?:Who|What|Whose|That which|Neither is|Nor is|Where that)\b[^.!?]*[.!?]?`)

// phrases compiles an expression whose blanks match a line's end too.
func phrases(expression string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(expression, " ", `\s+`))
}

// impersonalIn returns the words and sentences of a text that leave out who acts. A question may
// begin with any word.
func impersonalIn(text string) []string {
	words := impersonal.FindAllString(text, -1)
	for _, sentence := range opening.FindAllString(text, -1) {
		if !strings.HasSuffix(sentence, "?") {
			words = append(words, sentence)
		}
	}
	return words
}

// wideIn returns the widths of the lines of a comment that are too wide. A comment behind code
// counts from its beginning.
func wideIn(text string, file *ast.File, c *ast.Comment) (widths []int) {
	before := text[:c.Pos()-file.FileStart]
	indent := before[strings.LastIndex(before, "\n")+1:]
	if strings.TrimSpace(indent) != "" {
		indent = ""
	}
	for line := range strings.Lines(indent + c.Text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
		if n := len([]rune(line)); n > maxCommentWidth && !strings.HasPrefix(line, "//go:") {
			widths = append(widths, n)
		}
	}
	return widths
}

// Comments and documents name who acts, and comment lines fit their width.
func TestHouseLanguage(t *testing.T) {
	goFiles(t, func(path string, file *ast.File, text string) {
		for _, group := range file.Comments {
			line := 1 + strings.Count(text[:group.Pos()-file.FileStart], "\n")
			if words := impersonalIn(group.Text()); len(words) > 0 {
				t.Errorf("%s:%d: %q leaves out who acts", path, line, words)
			}
			for _, c := range group.List {
				for _, width := range wideIn(text, file, c) {
					t.Errorf("%s:%d: a comment of %d columns, %d are the most", path, line, width, maxCommentWidth)
				}
			}
		}
	})
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range documents {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if words := impersonalIn(string(text)); len(words) > 0 {
				t.Errorf("%s: %q leaves out who acts", path, words)
			}
		}
	}
}

// Wide and impersonal comments are found.
func TestHouseLanguageFinds(t *testing.T) {
	for text, want := range map[string][]string{
		"Whoever has it, nobody waits any more.":            {"Whoever", "nobody", "any more"},
		"It adds the file that is read; one\nthat is empty": {"one\nthat is"},
		"Reads all. What fails\nis a line. Next.":           {". What fails\nis a line."},
		"What an operator may change":                       {"What an operator may change"},
		"Says why.\nWhere that fails, it ends.":             {".\nWhere that fails, it ends."},
		"What is missing? The kernel says what it has.":     nil,
		"one of the besieged, someday, what it wants":       nil,
	} {
		if words := impersonalIn(text); !slices.Equal(words, want) {
			t.Errorf("%q: %q, want %q", text, words, want)
		}
	}
	wide := "\t//" + strings.Repeat(" ", 95) + "x"
	for text, want := range map[string][]int{
		"package p\n\n" + wide + "\n":                                   {102},
		"package p\n\n/* a\n" + wide + "\n\n*/":                         {102},
		"package p\n\nvar a int " + strings.TrimSpace(wide) + "\n":      nil,
		"package p\n\nvar a int " + strings.TrimSpace(wide) + "xxx\n":   {101},
		"package p\n\n//go:generate" + strings.Repeat(" ", 100) + "x\n": nil,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if widths := wideIn(text, file, file.Comments[0].List[0]); !slices.Equal(widths, want) {
			t.Errorf("%q: %d, want %d", text, widths, want)
		}
	}
}
