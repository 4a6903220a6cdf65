// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

const goldenPath = "testdata/golden.txt"

// A golden is an object that was written once, and what it stood for.
type golden struct {
	name, sum string
	object    []byte
}

// goldens reads the file of objects: in each line a name, the SHA-256 sum of the page and the
// object, both in hexadecimal.
func goldens(t *testing.T) []golden {
	t.Helper()
	return goldensIn(t, goldenPath)
}

func goldensIn(t *testing.T, path string) []golden {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) != 3 {
			t.Fatalf("%s: not three fields: %.60s", path, line)
		}
		object, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatalf("%s: %s: %v", path, fields[0], err)
		}
		all = append(all, golden{fields[0], fields[1], object})
	}
	return all
}

// Objects that were stored stay readable for ever, as the pages that they were. An object in the
// file never changes. The encoder of today may make another object of the page.
func TestGoldenObjectsStayReadable(t *testing.T) {
	all := goldens(t)
	if len(all) < 8 {
		t.Fatalf("%s holds %d objects", goldenPath, len(all))
	}
	page, back := make([]byte, Size), make([]byte, Size)
	eachPair(t, func(t *testing.T, p pair) {
		for _, g := range all {
			if err := p.dec.Decompress(page, g.object); err != nil {
				t.Fatalf("%s: %v", g.name, err)
			}
			if sum := sha256.Sum256(page); hex.EncodeToString(sum[:]) != g.sum {
				t.Fatalf("%s: came back different", g.name)
			}
			object := p.object(t, page)
			if object == nil {
				continue
			}
			if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
				t.Errorf("%s: its page does not come back today: %v", g.name, err)
			}
		}
	})
}

// One of them has every token, so that none can come to mean something else.
func TestGoldenObjectHasEveryToken(t *testing.T) {
	seen := map[byte]bool{}
	for _, g := range goldens(t) {
		s, ok := split(g.object)
		if !ok {
			t.Fatal(g.name)
		}
		for _, number := range s.tokens {
			seen[number] = true
		}
	}
	if len(seen) != 256 {
		t.Errorf("%d tokens occur, want all 256", len(seen))
	}
}

// goldenPages are the pages of the file's objects that have a rule; the others were drawn.
var goldenPages = map[string]func(page []byte){
	"zero":    func([]byte) {},
	"bytes":   func(page []byte) { fill(page, 0xA5) },
	"example": examplePage,
	"counter": func(page []byte) {
		for i := 0; i < Size; i += 4 {
			binary.LittleEndian.PutUint32(page[i:], uint32(i/4))
		}
	},
	"pointers": func(page []byte) {
		for i := 0; i < Size; i += 24 {
			record := page[i:min(i+24, Size)]
			binary.LittleEndian.PutUint64(record, 0x7f8a_1c00_2000+uint64(i*i))
			if len(record) == 24 {
				binary.LittleEndian.PutUint32(record[8:], uint32(i/24))
				binary.LittleEndian.PutUint16(record[20:], uint16(i*7)&0x3f)
			}
		}
	},
	"text": func(page []byte) {
		words := strings.Fields("the page of memory that a program wrote and the kernel moved out to make room for another")
		state, at := uint32(1), 0
		for at < Size {
			state = state*1664525 + 1013904223
			at += copy(page[at:], words[state>>24%uint32(len(words))]+" ")
		}
	},
}

// examplePage is the page of the document's example.
func examplePage(page []byte) {
	copy(page, "A page of memory holds arrays of records. ")
	copy(page[100:], "a page of memory")
}

func TestGoldenPagesKeepTheirRules(t *testing.T) {
	found := 0
	for _, g := range goldens(t) {
		rule, ok := goldenPages[g.name]
		if !ok {
			continue
		}
		found++
		page := make([]byte, Size)
		rule(page)
		if sum := sha256.Sum256(page); hex.EncodeToString(sum[:]) != g.sum {
			t.Errorf("%s: another page", g.name)
		}
	}
	if found != len(goldenPages) {
		t.Errorf("%d pages are in %s, want %d", found, goldenPath, len(goldenPages))
	}
}

// The document's example is an object, and its page is as described.
func TestExampleOfTheDocument(t *testing.T) {
	object := exampleIn(t, documentPath)
	if len(object) != 65 || !judge(t, object) {
		t.Fatalf("the example of %d bytes is refused", len(object))
	}
	wantExamplePage(t, new(Decoder), object)
}

// exampleIn returns the object that a document has as its example.
func exampleIn(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(text), "\n## Example\n")
	if !found {
		t.Fatalf("%s has no example", path)
	}
	var digits strings.Builder
	for line := range strings.Lines(example) {
		if strings.HasPrefix(line, "    ") {
			digits.WriteString(strings.Join(strings.Fields(line), ""))
		}
	}
	object, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// wantExamplePage wants the page of the documents' example.
func wantExamplePage(t *testing.T, dec decoder, object []byte) {
	t.Helper()
	page, back := make([]byte, Size), make([]byte, Size)
	examplePage(page)
	if err := dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
		t.Errorf("the example is another page: %v", err)
	}
}
