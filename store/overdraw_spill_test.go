// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"
)

// Where a limit was lowered below what is taken, pages go to the backing device until it fits.
func TestSpillBelowALoweredLimit(t *testing.T) {
	const pages = 16_000
	s := newStore(t, Config{Disksize: pages * PageSize, Backing: newBacking(t, pages)})
	for page := range uint64(pages) {
		write(t, s, page, content{uint32(page), 1, barelyCompressible}.bytes())
	}
	limit := s.used() / 4
	s.SetMemLimit(uint64(limit))
	eventually(t, "the use falls below the limit", func() bool {
		left := 2048
		_, _ = s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: func(n int) (int, error) {
			n = min(n, left)
			left -= max(n, 0)
			return n, nil
		}}) // what it moved counts
		return s.used() <= limit
	})
	s.SetMemLimit(0)
	for page := uint64(0); page < pages; page += 97 {
		if !bytes.Equal(read(t, s, page), content{uint32(page), 1, barelyCompressible}.bytes()) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
}
