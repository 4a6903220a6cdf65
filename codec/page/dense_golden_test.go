// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

const denseGoldenPath = "testdata/golden-dense.txt"

// Objects that were stored stay readable for ever, as the pages that they were. An object in the
// file never changes. The encoder of today may make another object of the page.
func TestGoldenDenseObjectsStayReadable(t *testing.T) {
	all := goldensIn(t, denseGoldenPath)
	page, back := make([]byte, Size), make([]byte, Size)
	eachDensePair(t, func(t *testing.T, p densePair) {
		for _, g := range all {
			if err := p.dec.Decompress(page, g.object); err != nil {
				t.Fatalf("%s: %v", g.name, err)
			}
			if sum := sha256.Sum256(page); hex.EncodeToString(sum[:]) != g.sum {
				t.Fatalf("%s: came back different", g.name)
			}
			if rule, ok := goldenPages[g.name]; ok {
				clear(back)
				if rule(back); !bytes.Equal(back, page) {
					t.Errorf("%s: its rule makes another page", g.name)
				}
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

// They have every code, and regions that are too large, so that none can come to mean something
// else.
func TestGoldenDenseObjectsHaveEveryCode(t *testing.T) {
	seen, borders := [segments]map[int]bool{}, map[byte]bool{}
	for i := range seen {
		seen[i] = map[int]bool{}
	}
	for _, g := range goldensIn(t, denseGoldenPath) {
		choice := int(g.object[3])
		for i, bits := range choiceBits {
			seen[i][choice&(1<<bits-1)] = true
			choice >>= bits
		}
		borders[g.object[4]] = true
	}
	for i, bits := range choiceBits {
		if len(seen[i]) != 1<<bits {
			t.Errorf("%s: %v", segmentNames[i], seen[i])
		}
	}
	if !borders[0x80] || !borders[0x7f] {
		t.Error("no region is too large")
	}
}

// The document's example is an object, and its page is as described.
func TestExampleOfTheDenseDocument(t *testing.T) {
	object := exampleIn(t, denseDocumentPath)
	if len(object) != 62 || !judgeDense(t, object) {
		t.Fatalf("the example of %d bytes is refused", len(object))
	}
	wantExamplePage(t, new(DenseDecoder), object)
}
