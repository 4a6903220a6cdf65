// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// outOfOrder is a store of pages of text by lz4, in an order that leaves neighbours apart.
func outOfOrder(t *testing.T) (*Store, [][]byte) {
	t.Helper()
	s := newStore(t, Config{Disksize: 12 << 20, Algorithm: algorithm(t, "lz4")})
	newCalendar(s)
	data := make([][]byte, s.Pages())
	for _, page := range rand.New(rand.NewPCG(5, 6)).Perm(len(data)) {
		for line := page; len(data[page]) < PageSize; line = (line*1103515245 + 12345) & 0xFFFFFF {
			data[page] = fmt.Appendf(data[page], "line %d of page %d says %x\n", line%1000, page, line%65536)
		}
		data[page] = data[page][:PageSize]
		write(t, s, uint64(page), data[page])
	}
	return s, data
}

// Packing goes on where a limit was lowered below what is taken, although writes fail there, and
// brings the use below it. It takes little more than there was.
func TestPackingBelowALoweredLimit(t *testing.T) {
	for name, pack := range map[string]func(s *Store) error{
		"each by itself": func(s *Store) error {
			_, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: algorithm(t, "zstd")})
			return err
		},
		"joined": joinAll,
	} {
		t.Run(name, func(t *testing.T) {
			s, data := outOfOrder(t)
			before := s.used()
			limit := before - before/3
			s.SetMemLimit(uint64(limit))
			eventually(t, "writes fail", func() bool { return errors.Is(writeOrFail(s, 0, data[0]), ErrFull) })
			s.ResetPeak()
			if err := pack(s); err != nil && !errors.Is(err, ErrFull) { // once it fits the limit holds
				t.Fatal(err)
			}
			eventually(t, "the use falls below the limit", func() bool { return s.used() <= limit })
			if most := s.peak.Load(); most > before+before/overdraft+2*image.SegmentSize {
				t.Errorf("%d bytes were taken at the most, and %d before", most, before)
			}
			unchanged(t, s, data)
			s.SetMemLimit(0)
			write(t, s, 0, data[0])
		})
	}
}
