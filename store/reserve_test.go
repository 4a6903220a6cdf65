// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// The reserve is small while nothing is stored, grows with what is, and is given back when that
// goes.
func TestReserveGrowsWithUse(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 30, Workers: 4})
	const first = 4 + reserveBeside
	if n := s.reserve(); n != first {
		t.Errorf("%d segments wait in an empty store, want %d", n, first)
	}
	const pages = 24 << 20 / PageSize
	for i := range uint64(pages) {
		write(t, s, i, content{uint32(i), 1, random}.bytes())
	}
	const grown = first + pages/image.RawPerSegment/reserveShare
	s.poke() // it is filled up again once half of it is taken
	waitUntil(t, func() bool { return s.reserve() >= grown })
	w := s.Acquire()
	w.Discard(0, s.Pages())
	w.Release()
	// Freed objects are cleared once no reader is in the way, and memory is given back when writes
	// pause.
	waitUntil(t, func() bool { return s.reserve() <= first+1 && s.backedBytes() <= (first+6)*image.SegmentSize })
	if s.reserve() < first {
		t.Errorf("%d segments wait, want %d at least", s.reserve(), first)
	}
}
