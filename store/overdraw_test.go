// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
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
		data[page] = text(page)
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

// Packing below a lowered limit ends where the machine has no memory, and counts none then.
func TestPackingWithoutMemory(t *testing.T) {
	var deny atomic.Bool
	s := newStore(t, Config{Disksize: 8 << 20, AllocHook: func(take func() error) error {
		if deny.Load() {
			return ErrNoMemory
		}
		return take()
	}})
	for page := range s.Pages() {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	defer s.unmaintained()()
	s.limit.Store(uint64(s.used()) / 2)
	defer s.limit.Store(0)
	for _, emptied := range []bool{false, true} { // or the compactor has garbage, and no segment
		for page := uint64(0); emptied && page < s.Pages(); page += 2 {
			discard(s, page, 1)
		}
		for emptied && s.reserve() > 0 {
			s.giveUpReady(t)
		}
		deny.Store(true)
		before := s.used()
		if n, err := s.overdraw(); !errors.Is(err, ErrFull) || s.used() > before || !emptied && s.used() < before {
			t.Errorf("segment %d, %v; %d bytes are counted, %d were", n, err, s.used(), before)
		}
		deny.Store(false)
		holds(t, s)
	}
	n, err := s.overdraw()
	if err != nil {
		t.Fatal(err)
	}
	if garbage, live := s.garbage(); garbage > live/overdraft+image.SegmentSize {
		t.Errorf("%d bytes of garbage are left of %d", garbage, live)
	}
	if err := s.release(n, segOpen, 0); err != nil {
		t.Error(err)
	}
}

// Compaction that has a segment in hand begins anew with it once packing has filled it with other
// objects: in the middle of one it would find none, and call the segment stuck.
func TestPackingFillsASegmentInHand(t *testing.T) {
	s := noisy(t, 4<<10)
	defer s.unmaintained()()
	s.settleIdle(true)
	s.limit.Store(uint64(s.used()) / 2)
	defer s.limit.Store(0)
	n := s.idx.load(0).Segment()
	s.tidying.left = append(s.tidying.room[:0], uint32(n))
	s.tidying.at = n*image.SegmentSize + image.SegmentSize/2 + image.Unit // where it stopped
	for page := range s.Pages() {
		if e := s.idx.load(page); e.Object() && e.Segment() == n {
			discard(s, page, 1)
		}
	}
	s.giveBackEmpty()
	w := s.acquireLast()
	for page := uint64(0); s.segment(n).state() != segSealed; page++ {
		if err := w.replace(page, content{uint32(page), 2, random}.bytes()); err != nil {
			t.Fatal(err)
		}
	}
	w.Release()
	if s.compactOne(); s.segment(n).state() == segStuck {
		t.Error("the segment is called stuck")
	}
}
