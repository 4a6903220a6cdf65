// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestClip(t *testing.T) {
	for _, c := range []struct{ off, n, size, want uint64 }{
		{0, 10, 100, 10},
		{90, 10, 100, 10},
		{91, 10, 100, 9},
		{99, 1, 100, 1},
		{100, 1, 100, 0},
		{101, 0, 100, 0},
		{50, math.MaxUint64, 100, 50},
		{math.MaxUint64, math.MaxUint64, 100, 0},
	} {
		if got := clip(c.off, c.n, c.size); got != c.want {
			t.Errorf("clip(%d, %d, %d) = %d, want %d", c.off, c.n, c.size, got, c.want)
		}
	}
}

func TestSpans(t *testing.T) {
	type span struct {
		page        uint64
		off, lo, hi int
	}
	for name, c := range map[string]struct {
		off  uint64
		n    int
		want []span
	}{
		"nothing":              {off: 5000, n: 0},
		"one page":             {off: 4096, n: 4096, want: []span{{1, 0, 0, 4096}}},
		"inside a page":        {off: 4100, n: 10, want: []span{{1, 4, 0, 10}}},
		"up to a page's end":   {off: 4100, n: 4092, want: []span{{1, 4, 0, 4092}}},
		"across one boundary":  {off: 4095, n: 2, want: []span{{0, 4095, 0, 1}, {1, 0, 1, 2}}},
		"parts at both ends":   {off: 4000, n: 4200, want: []span{{0, 4000, 0, 96}, {1, 0, 96, 4192}, {2, 0, 4192, 4200}}},
		"near the largest off": {off: 1<<44 - 4096, n: 4096, want: []span{{1<<32 - 1, 0, 0, 4096}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []span
			for s := spansOf(c.off, c.n); s.next(); {
				got = append(got, span{s.page, s.off, s.lo, s.hi})
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("span %d is %v, want %v", i, got[i], c.want[i])
				}
			}
		})
	}
}

// TestSpansCover walks random ranges: the spans follow each other without a gap,
// none leaves its page, and together they are the range.
func TestSpansCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		off, n := rng.Uint64N(1<<44), rng.IntN(5*pageSize)
		at, lo := off, 0
		for s := spansOf(off, n); s.next(); {
			switch {
			case s.lo != lo, s.hi <= s.lo, s.page*pageSize+uint64(s.off) != at, s.off+s.hi-s.lo > pageSize:
				t.Fatalf("range %d+%d: span %+v at %d", off, n, s, at)
			}
			at += uint64(s.hi - s.lo)
			lo = s.hi
		}
		if lo != n {
			t.Fatalf("range %d+%d: spans cover %d bytes", off, n, lo)
		}
	}
}

func TestHole(t *testing.T) {
	for name, c := range map[string]struct {
		off, n uint64
		want   hole
	}{
		"inside a page":    {off: 4100, n: 10, want: hole{head: part{1, 4, 10}}},
		"head only":        {off: 4100, n: 4092, want: hole{head: part{1, 4, 4092}, first: 2, tail: part{page: 2}}},
		"tail only":        {off: 8192, n: 7, want: hole{head: part{page: 2}, first: 2, tail: part{2, 0, 7}}},
		"one page":         {off: 8192, n: 4096, want: hole{head: part{page: 2}, first: 2, count: 1, tail: part{page: 3}}},
		"pages and parts":  {off: 4095, n: 8194, want: hole{head: part{0, 4095, 1}, first: 1, count: 2, tail: part{3, 0, 1}}},
		"two parts":        {off: 4095, n: 2, want: hole{head: part{0, 4095, 1}, first: 1, tail: part{1, 0, 1}}},
		"nothing":          {off: 8192, n: 0, want: hole{head: part{page: 2}, first: 2, tail: part{page: 2}}},
		"nothing, in page": {off: 8193, n: 0, want: hole{head: part{2, 1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := holeOf(c.off, c.n); got != c.want {
				t.Errorf("holeOf(%d, %d) = %+v, want %+v", c.off, c.n, got, c.want)
			}
		})
	}
}

// TestHoleCovers takes random ranges apart: head, pages and tail adjoin, the
// parts are smaller than a page, and nothing else is in them.
func TestHoleCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		off, n := rng.Uint64N(1<<44), rng.Uint64N(5*pageSize)
		h := holeOf(off, n)
		total := uint64(h.head.n) + h.count*pageSize + uint64(h.tail.n)
		if total != n {
			t.Fatalf("hole %d+%d covers %d bytes: %+v", off, n, total, h)
		}
		if h.head.n >= pageSize || h.tail.n >= pageSize || h.head.off+h.head.n > pageSize || h.tail.off != 0 {
			t.Fatalf("hole %d+%d has a whole page in a part: %+v", off, n, h)
		}
		if h.head.n > 0 && h.head.page*pageSize+uint64(h.head.off) != off {
			t.Fatalf("hole %d+%d starts elsewhere: %+v", off, n, h)
		}
		if h.count > 0 && h.first*pageSize != off+uint64(h.head.n) {
			t.Fatalf("hole %d+%d: pages do not follow the head: %+v", off, n, h)
		}
		if h.tail.n > 0 && h.tail.page*pageSize+uint64(h.tail.n) != off+n {
			t.Fatalf("hole %d+%d ends elsewhere: %+v", off, n, h)
		}
	}
}
