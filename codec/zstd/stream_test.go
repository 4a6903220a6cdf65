// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// An encoder that has seen other pages gives the same object as one that has seen none.
func TestF016NoStateBetweenPages(t *testing.T) {
	for level, share := range map[int]int{1: 100, 3: 400, 6: 4000, 19: 40_000} {
		t.Run(fmt.Sprint("level", level), func(t *testing.T) {
			t.Parallel()
			used, _ := newPair(t, level)
			page := make([]byte, MaxSize)
			object, want := make([]byte, MaxObject), make([]byte, MaxObject)
			for i := range max(codectest.Rounds()/share, 4) {
				codectest.Derive(page, codectest.Generated(), i)
				fresh, err := NewEncoder(level)
				if err != nil {
					t.Fatal(err)
				}
				n, err := used.Compress(object, page)
				if err != nil {
					t.Fatal(err)
				}
				m, err := fresh.Compress(want, page)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(object[:n], want[:m]) {
					t.Fatalf("page %d: %d bytes from a used encoder, %d from a fresh one, or other bytes", i, n, m)
				}
			}
		})
	}
}
