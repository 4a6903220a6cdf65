// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// orders are what operators ask for, each with a call of between when it has done a part.
var orders = map[string]func(s *Store, between func()) error{
	"recompress": func(s *Store, between func()) error {
		_, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: s.Algorithm(), Rest: func(Recompressed) { between() }})
		return err
	},
	"join": func(s *Store, between func()) error {
		_, err := s.NewClusterer(s.Algorithm(), func(Recompressed) { between() }).Run(context.Background(), time.Hour)
		return err
	},
	"scrub": func(s *Store, between func()) error {
		_, err := s.Scrub(context.Background(), func(uint64) {}, between)
		return err
	},
	"write back": func(s *Store, between func()) error {
		_, err := s.WriteBack(WritebackConfig{Pages: everything.Pages, Grant: func(n int) (int, error) { between(); return n, nil }})
		return err
	},
}

// Close ends what an operator has asked for between two parts, and what comes later is refused.
func TestCloseEndsOperations(t *testing.T) {
	for name, operate := range orders {
		t.Run(name, func(t *testing.T) {
			s := mustCreate(t, Config{Disksize: 16 << 20, Algorithm: algorithm(t, "page:dense"), Backing: newBacking(t, 4096)})
			for page, p := range texts(2000) {
				write(t, s, uint64(page), p)
			}
			parts := 0
			closed := make(chan error, 1)
			begin := sync.OnceFunc(func() {
				go func() { closed <- s.Close() }()
				waitUntil(t, s.closing)
			})
			if err := operate(s, func() { parts++; begin() }); !errors.Is(err, ErrClosed) || parts != 1 {
				t.Errorf("after %d parts it ends with %v", parts, err)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			if err := operate(s, func() { t.Error("it begins") }); !errors.Is(err, ErrClosed) {
				t.Errorf("once the store is closed: %v", err)
			}
			if s.MarkIdle(0) != 0 || s.CompactNow(nil) != 0 {
				t.Error("a closed store marks pages, or compacts")
			}
		})
	}
}

// The context ends what an operator has asked for, and its error is the answer.
func TestContextEndsOperations(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, Algorithm: algorithm(t, "lz4")})
	for page, p := range texts(2000) {
		write(t, s, uint64(page), p)
	}
	for name, operate := range map[string]func(ctx context.Context, between func()) error{
		"recompress": func(ctx context.Context, between func()) error {
			_, err := s.Recompress(ctx, RecompressConfig{Algorithm: algorithm(t, "zstd"), Rest: func(Recompressed) { between() }})
			return err
		},
		"join": func(ctx context.Context, between func()) error {
			_, err := s.NewClusterer(algorithm(t, "page:dense"), func(Recompressed) { between() }).Run(ctx, 0)
			return err
		},
		"scrub": func(ctx context.Context, between func()) error {
			_, err := s.Scrub(ctx, func(uint64) {}, between)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		parts := 0
		if err := operate(ctx, func() { parts++; cancel() }); !errors.Is(err, context.Canceled) || parts != 1 {
			t.Errorf("%s: after %d parts it ends with %v", name, parts, err)
		}
	}
}

// Operations that change ages or states of pages wake the maintainer, which then brings the
// statistics up to date.
func TestOperationsRenewStatistics(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page:dense"), Backing: newBacking(t, 300)})
	for page, p := range texts(100) {
		write(t, s, uint64(page), p)
	}
	defer s.unmaintained()()
	operate := maps.Clone(orders)
	operate["mark idle"] = func(s *Store, _ func()) error { s.MarkIdle(0); return nil }
	delete(operate, "scrub") // it changes nothing
	for name, operate := range operate {
		s.ages.stale.Store(false)
		select {
		case <-s.wake:
		default:
		}
		if err := operate(s, func() {}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !s.ages.stale.Load() || len(s.wake) != 1 {
			t.Errorf("%s: statistics are wanted: %v, the maintainer wakes: %v", name, s.ages.stale.Load(), len(s.wake) == 1)
		}
	}
}

// No entry that points into an unswept segment is replaced before the segment is swept.
func TestSegmentsAreSweptFirst(t *testing.T) {
	for name, replace := range map[string]func(s *Store) error{
		"write":   func(s *Store) error { return writeOrFail(s, 0, texts(2)[1]) },
		"part":    func(s *Store) error { w := s.Acquire(); defer w.Release(); return w.Write(0, 5, []byte("part")) },
		"discard": func(s *Store) error { discard(s, 0, 1); return nil },
		"join":    joinAll,
		"recompress": func(s *Store) error {
			_, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: algorithm(t, "zstd(level=9)")})
			return err
		},
		"write back": func(s *Store) error { _, err := s.WriteBack(everything); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "lz4"), Backing: newBacking(t, 300)})
			for page := range uint64(image.ClusterPages) {
				write(t, s, page, texts(1)[0])
			}
			defer s.unmaintained()()
			s.settleIdle(true)
			e := s.idx.load(0)
			if seg := s.segment(e.Segment()); !seg.turn(segSealed, segUnswept) {
				t.Fatalf("the segment is in state %d", seg.state())
			}
			s.unswept.Add(1)
			if err := replace(s); err != nil {
				t.Error(err)
			}
			if s.idx.load(0) == e || s.segment(e.Segment()).state() == segUnswept || s.unswept.Load() != 0 {
				t.Errorf("the entry was %#x and is %#x, the segment is in state %d", e, s.idx.load(0), s.segment(e.Segment()).state())
			}
		})
	}
}
