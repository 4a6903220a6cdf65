// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// Page, object and result lie against inaccessible pages on both sides, so that a read or write one
// byte outside ends the test.
func TestF014BetweenGuardPages(t *testing.T) {
	pageEnd, pageStart := codectest.Guarded(t, PageSize)
	objectEnd, objectStart := codectest.Guarded(t, PageSize)
	backEnd, backStart := codectest.Guarded(t, PageSize)
	movedEnd, _ := codectest.Guarded(t, PageSize)
	sides := []struct{ page, object, back []byte }{
		{pageEnd, objectEnd, backEnd},
		{pageStart, objectStart, backStart},
	}
	eachAlgorithm(t, fast(), func(t *testing.T, _ string, w *worker) {
		for i, base := range codectest.Generated()[:500/codectest.Stride()] {
			for _, side := range sides {
				copy(side.page, base)
				id, n, err := w.c.Compress(side.object, side.page)
				if err != nil {
					t.Fatal(err)
				}
				object := movedEnd[PageSize-n:]
				if copy(object, side.object); id == Raw {
					copy(object, side.page)
				}
				if err := w.d.Decompress(side.back, id, object); err != nil || !bytes.Equal(side.back, base) {
					t.Fatalf("page %d: came back different, or %v", i, err)
				}
			}
		}
	})
}
