// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/zramfs/zramfs/internal/pages"
)

// Memory is what the product sells: on real pages all that a full device takes,
// index and reserve included, is at most 1.06 of the compressed data. The
// kernel's allocator alone is at 1.05.
func TestMemoryPerCompressedByte(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes a device of this size slow")
	}
	sample := pages.Real(t)
	s := newStore(t, Config{Disksize: 1 << 30})
	for page := range s.Pages() {
		write(t, s, page, sample[int(page)%len(sample)])
	}
	st := s.Stats()
	ratio := float64(st.MemUsedTotal) / float64(st.ComprDataSize)
	t.Logf("%d MiB stored in %d MiB, compressed data %d MiB: memory is %.4f of it (index %.4f, reserve %.4f)",
		st.OrigDataSize>>20, st.MemUsedTotal>>20, st.ComprDataSize>>20, ratio,
		float64(st.IndexBytes)/float64(st.ComprDataSize), float64(st.ReserveBytes)/float64(st.ComprDataSize))
	if ratio > 1.06 {
		t.Errorf("memory used is %.4f of the compressed data, want at most 1.06", ratio)
	}
}
