// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"testing"

	"zramfs/codec"
)

// Who can have a processor has all the time, and it falls from there to nothing for the last worker.
func TestEffortFollowsTheLoad(t *testing.T) {
	const most = codec.MaxEffort
	for _, c := range []struct {
		processors int
		want       []int // by depth; the number of workers is its length
	}{
		{1, []int{most, 4, 2, 0}},
		{2, []int{most, most, 3, 0}},
		{4, []int{most, most, most, most, 5, 3, 1, 0}},
		{3, []int{most, most, most}}, // more would be idle processors
		{4, []int{most, most}},
	} {
		for depth, want := range c.want {
			if got := effortAmong(depth, c.processors, len(c.want)); got != want {
				t.Errorf("%d processors, %d workers, depth %d: level %d, want %d", c.processors, len(c.want), depth, got, want)
			}
		}
	}
	for processors := 1; processors <= 80; processors++ {
		workers := min(max(2*processors, 4), maxWorkers)
		for depth := 1; depth <= workers; depth++ { // the last one is the compactor's
			now, before := effortAmong(depth, processors, workers), effortAmong(depth-1, processors, workers)
			if now > before || now < 0 || now > most {
				t.Fatalf("%d processors: level %d at depth %d, after %d", processors, now, depth, before)
			}
		}
	}
}

func TestMemoryIsScarceFromSevenEighths(t *testing.T) {
	for _, c := range []struct {
		used, most int64
		want       bool
	}{
		{0, 800, false}, {699, 800, false}, {700, 800, true}, {800, 800, true}, {900, 800, true}, {1 << 60, 1 << 62, false}, {1 << 62, 1 << 62, true},
	} {
		if got := scarce(c.used, c.most); got != c.want {
			t.Errorf("%d of %d bytes: %v", c.used, c.most, got)
		}
	}
}

// stored counts the pages that one request at a depth stores by each codec, and discards them again.
func stored(t *testing.T, s *Store, depth int) [codecs]CodecStats {
	t.Helper()
	var others []*Worker
	for range depth {
		others = append(others, s.Acquire())
	}
	w := s.Acquire()
	for page := range uint64(64) {
		if err := w.Write(page, 0, content{uint32(page), 1, compressible}.bytes()); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Stats().Codecs
	w.Discard(0, 64)
	w.Release()
	for _, other := range others {
		other.Release()
	}
	return got
}

// An idle device packs tight, one with as many requests as it has workers goes fast, and one whose memory is nearly used packs tight all the
// same.
func TestF057LoadChoosesTheCodec(t *testing.T) {
	last := min(max(2*runtime.GOMAXPROCS(0), 4), maxWorkers) - 1
	if last < runtime.GOMAXPROCS(0) {
		t.Skip("there are as many processors as workers: each request has one")
	}
	for _, c := range []struct {
		name  string
		full  bool
		depth int
		want  codec.ID
	}{
		{"idle", false, 0, codec.PageDense},
		{"busy", false, last, codec.Page},
		{"busy, and near the limit", true, last, codec.PageDense},
		{"idle, and near the limit", true, 0, codec.PageDense},
	} {
		s := newStore(t, Config{Disksize: 64 << 20, MemLimit: limitOf(64<<20, 40)})
		for page := s.Pages() - 1; c.full && !scarce(s.used(), s.most()); page-- {
			if err := tryWrite(s, page, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := stored(t, s, c.depth); got[c.want].Pages != 64 {
			t.Errorf("%s: %d pages by %s, %d by %s, want all 64 by %s", c.name, got[codec.Page].Pages, codec.Page,
				got[codec.PageDense].Pages, codec.PageDense, c.want)
		}
	}
}

// A storm is felt by all of its requests, not only by those that get the last workers, and forgotten soon after.
func TestDepthIsForgotten(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20})
	last := int32(len(s.workers) - 2)
	var all []*Worker
	for range last + 1 {
		all = append(all, s.Acquire())
	}
	for _, w := range all {
		w.Release()
	}
	if got := s.depth.Load(); got != last {
		t.Fatalf("depth %d after %d requests at once", got, last+1)
	}
	requests := 0
	for ; s.depth.Load() > 0 && requests < 10_000; requests++ {
		s.Acquire().Release()
		if requests == depthLasts/2 && s.depth.Load() != last {
			t.Errorf("depth %d was forgotten at once", last)
		}
	}
	if requests == 10_000 {
		t.Errorf("depth is still %d after %d requests alone", s.depth.Load(), requests)
	}
	if got := stored(t, s, 0); got[codec.PageDense].Pages != 64 {
		t.Errorf("idle again, %d of 64 pages by %s", got[codec.PageDense].Pages, codec.PageDense)
	}
}

// Who names a codec gets it, idle or not.
func TestFixedAlgorithmIgnoresTheLoad(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, Algorithm: algorithm(t, "page")})
	if got := stored(t, s, 0); got[codec.Page].Pages != 64 {
		t.Errorf("%d of 64 pages by %s", got[codec.Page].Pages, codec.Page)
	}
}
