// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	// maxCommentWidth is the width of a comment line in columns, a tab being four.
	maxCommentWidth = 100
	// maxImpersonal is the number of impersonal words in a thousand words of a package's comments,
	// or of all documents.
	maxImpersonal = 1.0
)

// impersonal matches words that leave out who acts. A comment names the caller, the writer, the
// worker, the kernel or the page instead.
var impersonal = regexp.MustCompile(`(?i)\b(whoever|whomever|whosoever|somebody|someone|nobody|no one|anybody|anyone|everybody|everyone|those who|what it is to)\b`)

// prose counts words and holds the places of impersonal ones.
type prose struct {
	words  int
	places []string
}

func (p *prose) read(place, text string) {
	p.words += len(strings.Fields(text))
	for _, word := range impersonal.FindAllString(text, -1) {
		p.places = append(p.places, place+": "+word)
	}
}

// Comments and documents name who acts, and comment lines fit their width.
func TestHouseLanguage(t *testing.T) {
	all := map[string]*prose{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		}
		group := filepath.Dir(path)
		if strings.HasSuffix(path, ".md") {
			group = "documents"
		}
		if all[group] == nil {
			all[group] = &prose{}
		}
		switch {
		case strings.HasSuffix(path, ".md"):
			text, err := os.ReadFile(path)
			all[group].read(path, string(text))
			return err
		case strings.HasSuffix(path, ".go"):
			return readComments(t, path, all[group])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for group, p := range all {
		if p.words > 0 && float64(1000*len(p.places))/float64(p.words) > maxImpersonal {
			t.Errorf("%s: %d of %d words leave out who acts, more than %.1f in a thousand:\n%s", group, len(p.places), p.words,
				maxImpersonal, strings.Join(p.places, "\n"))
		}
	}
}

// readComments reads the comments of a Go file and reports their wide lines.
func readComments(t *testing.T, path string, p *prose) error {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") {
				continue
			}
			at := files.Position(c.Pos())
			p.read(at.String(), c.Text)
			line := strings.ReplaceAll(lines[at.Line-1], "\t", "    ")
			if strings.HasPrefix(strings.TrimSpace(line), "//") && len([]rune(line)) > maxCommentWidth {
				t.Errorf("%s: a comment of %d columns, %d are the most", at, len([]rune(line)), maxCommentWidth)
			}
		}
	}
	return nil
}

// Wide and impersonal comments are found.
func TestHouseLanguageFinds(t *testing.T) {
	var p prose
	p.read("here", "Whoever has it, nobody waits any more.")
	if p.words != 7 || len(p.places) != 2 {
		t.Errorf("%+v", p)
	}
}
