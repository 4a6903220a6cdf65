// SPDX-License-Identifier: Apache-2.0

package pagescan

import (
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/impl"
)

// F076: for pages of any length SameFilled gives the definition's answer, and so does each
// implementation.
func FuzzF076SameFilled(f *testing.F) {
	f.Add(repeated(0, 4096))
	f.Add(repeated(0x0102030405060708, 72))
	f.Add([]byte("1234567"))
	f.Fuzz(func(t *testing.T, page []byte) {
		wordwise := len(page) >= wordSize && len(page)%wordSize == 0
		word, ok := SameFilled(page)
		if want := wordwise && naive(page); ok != want {
			t.Fatalf("got %v, want %v", ok, want)
		}
		if !wordwise {
			return
		}
		first := binary.LittleEndian.Uint64(page)
		if ok && word != first {
			t.Fatalf("the word is %#x, want %#x", word, first)
		}
		for _, e := range repeatsTable {
			if impl.Has(e.Set) && e.F(page, first) != ok {
				t.Fatalf("%s: got %v, want %v", e.Set, !ok, ok)
			}
		}
	})
}

// F076: Scan counts what its definition says. The input is repeated to fill the page, so that a
// short input can make any distance repeat.
func FuzzF076Scan(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte("abcdefghijklmnopqrstuvw\x80"))
	f.Add([]byte{0xff, 0, 0x7f, 0x80, 1})
	f.Fuzz(func(t *testing.T, unit []byte) {
		page := make([]byte, PageSize)
		for at := 0; at < len(page) && len(unit) > 0; {
			at += copy(page[at:], unit)
		}
		want := featuresByDefinition(page)
		for _, e := range countTable {
			if impl.Has(e.Set) && split(e.F(page)) != want {
				t.Fatalf("%s: got %+v, want %+v", e.Set, split(e.F(page)), want)
			}
		}
	})
}
