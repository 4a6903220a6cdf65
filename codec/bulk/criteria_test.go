// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"bytes"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// criterionPlanner is a planner of four workers and another engine that wants batches of a
// thousand.
func criterionPlanner(t *testing.T, c Config) *Planner {
	t.Helper()
	return newPlanner(t, newCPU(t, "lz4", 4), c, newSecond(t, "lz4", codec.LZ4))
}

// G.105: a batch of 50 pages goes to one worker, one of 500 to all, and one of 2,000 to the other
// engine as well.
func TestG105BackendFitsTheBatch(t *testing.T) {
	p := criterionPlanner(t, Config{})
	for _, c := range []struct {
		pages, workers int
		second         bool
	}{{50, 1, false}, {500, 4, false}, {2000, 4, true}} {
		b := mixed(t, somePages(c.pages), "lz4:fast")
		r := run(t, p, b)
		if r.Engines[0].Lanes != c.workers || (r.Engines[1].Lanes > 0) != c.second {
			t.Errorf("%d pages: %d workers and %d lanes of the other engine", c.pages, r.Engines[0].Lanes, r.Engines[1].Lanes)
		}
		if small := r.Fallbacks[Small]; (small == c.pages) == c.second || small%c.pages != 0 {
			t.Errorf("%d pages: %d count as a small batch", c.pages, small)
		}
		if !c.second && (r.Engines[1].Pieces != 0 || r.Engines[0].Items != c.pages) {
			t.Errorf("%d pages: %+v", c.pages, r.Engines)
		}
	}
}

// G.108: in a batch of 1,000 pages the other engine gets its part, if not in the first, where the
// CPU may be done before it is awake, before it is tried in any case.
func TestG108EngineIsChosen(t *testing.T) {
	p := criterionPlanner(t, Config{})
	all := lz4Only(t, 1000)
	var sum Report
	for range probeEvery - 1 {
		b := mixed(t, all, "lz4")
		b.Before = func([]uint32) { time.Sleep(time.Millisecond) }
		r := run(t, p, b)
		checkPages(t, b, all)
		if sum.Add(r); sum.Engines[1].Items > 0 {
			return
		}
	}
	t.Errorf("nothing in %d batches of 1,000 pages: %+v", sum.Batches, sum)
}

// lz4Only returns n pages that lz4 does not leave raw, which the other engine could not read.
func lz4Only(t *testing.T, n int) []byte {
	t.Helper()
	compressor, err := parse(t, "lz4").NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	object := make([]byte, codec.PageSize)
	all := generated()
	for at := 0; len(out) < n*codec.PageSize; at += codec.PageSize {
		page := all[at : at+codec.PageSize]
		if id, _, err := compressor.Compress(object, page); err != nil {
			t.Fatal(err)
		} else if id == codec.LZ4 {
			out = append(out, page...)
		}
	}
	return out
}

// G.109: asked for by name, the engine does all 1,000 pages, in one piece. G.110: they come back
// equal. Both ways.
func TestG109G110EngineAlone(t *testing.T) {
	const n = 1000
	all := lz4Only(t, n)
	p := criterionPlanner(t, Config{Mode: EnginesAlone, Piece: 1024})
	made := NewBatch(Compress, n)
	made.Pages = all
	r := run(t, p, made)
	if e := r.Engines[1]; e.Items != n || e.Pieces != 1 || e.Batches != 1 || r.Share("second") != 1 {
		t.Errorf("compressed: %+v", r)
	}
	back := *made
	back.Op, back.Pages = Decompress, make([]byte, len(all))
	r = run(t, p, &back)
	if e := r.Engines[1]; e.Items != n || e.Pieces != 1 || e.Batches != 1 || r.Engines[0].Items != 0 {
		t.Errorf("decompressed: %+v", r)
	}
	if !bytes.Equal(back.Pages, all) {
		t.Error("the pages did not come back equal")
	}
}

// Pages that the engine cannot read stay with the CPU in the same batch, and are counted.
func TestUnreadablePagesStayWithTheCPU(t *testing.T) {
	const n = 3000
	all := lz4Only(t, n)
	b := mixed(t, all, "lz4", "page", "zstd(level=1)")
	lz4 := 0
	for _, id := range b.ID {
		if id == codec.LZ4 {
			lz4++
		}
	}
	r := run(t, criterionPlanner(t, Config{Mode: EnginesAlone}), b)
	checkPages(t, b, all)
	if r.Engines[1].Items != lz4 || r.Engines[0].Items != n-lz4 || r.Fallbacks[Unreadable] != n-lz4 {
		t.Errorf("of %d LZ4 objects: %+v", lz4, r)
	}
	none := mixed(t, all, "page")
	r = run(t, criterionPlanner(t, Config{}), none)
	if r.Fallbacks[Unreadable] != n || r.Engines[1].Lanes != 0 {
		t.Errorf("none that it reads: %+v", r)
	}
}

// Of two engines the one that knows more codecs does what the other cannot, and the CPU what
// neither can.
func TestTwoEngines(t *testing.T) {
	const n = 3000
	all := lz4Only(t, n)
	first, other := newSecond(t, "lz4", codec.LZ4), newSecond(t, "lz4", codec.LZ4, codec.Page)
	other.name = "third"
	b := mixed(t, all, "page", "raw", "lz4")
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 100}, first, other)
	r := run(t, p, b)
	checkPages(t, b, all)
	if r.Engines[0].Items != n/3 || r.Engines[1].Items > n/3 || r.Engines[2].Items < n/3 {
		t.Errorf("%+v", r)
	}
}
