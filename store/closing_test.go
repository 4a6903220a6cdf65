// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// orders are what operators ask for, each with a call of between when it has done a part.
var orders = map[string]func(s *Store, between func()) error{
	"recompress": func(s *Store, between func()) error {
		_, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: s.Algorithm(), Rest: func(Recompressed) { between() }})
		return err
	},
	"join": func(s *Store, between func()) error {
		c, err := s.NewClusterer(s.Algorithm(), func(Recompressed) { between() })
		if err == nil {
			_, err = c.Run(context.Background(), time.Hour)
		}
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
			c, err := s.NewClusterer(algorithm(t, "page:dense"), func(Recompressed) { between() })
			if err == nil {
				_, err = c.Run(ctx, 0)
			}
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
