// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"testing"

	"zramfs/codec/internal/codectest"
)

// An encoder that has seen other pages gives the same object as one that has seen none.
func TestF016NoStateBetweenPages(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		var used Encoder
		page := make([]byte, MaxSize)
		object, want := make([]byte, MaxObject), make([]byte, MaxObject)
		for i := range codectest.Rounds() / 100 {
			codectest.Derive(page, base, i)
			limit := MaxObject
			if i%3 == 0 {
				limit = 500 // gives up half-way and must leave nothing behind
			}
			var fresh Encoder
			n, err := used.Compress(object[:limit], page)
			if err != nil {
				t.Fatal(err)
			}
			m, err := fresh.Compress(want[:limit], page)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(object[:n], want[:m]) {
				t.Fatalf("page %d: %d bytes from a used encoder, %d from a fresh one, or other bytes", i, n, m)
			}
		}
	})
}
