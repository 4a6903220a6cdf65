// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/pagescan"
)

// newAdjusted returns a worker of the adaptive algorithm at a level.
func newAdjusted(tb testing.TB, level int) *worker {
	tb.Helper()
	w := newWorker(tb, "adaptive")
	adjust(tb, w, level)
	return w
}

func adjust(tb testing.TB, w *worker, level int) {
	tb.Helper()
	a, ok := w.c.(Adjustable)
	if !ok {
		tb.Fatal("adaptive is not adjustable")
	}
	a.SetEffort(level)
}

// compressible returns the pages of base that the faster codec does not leave raw.
func compressible(tb testing.TB, base [][]byte) [][]byte {
	tb.Helper()
	w := newWorker(tb, "page")
	return slices.DeleteFunc(slices.Clone(base), func(page []byte) bool {
		id, _, err := w.compress(page)
		return id == Raw || err != nil
	})
}

// At each end one codec has every page, and levels beyond the ends are those of the ends. A new
// compressor stands at the upper one.
func TestAdaptiveAtTheEnds(t *testing.T) {
	for level, name := range map[int]string{-1 << 40: "page", 0: "page", MaxEffort: "page:dense", 1 << 40: "page:dense"} {
		w, fresh, only := newAdjusted(t, level), newWorker(t, "adaptive"), newWorker(t, name)
		for i, page := range codectest.Generated()[:1000] {
			id, object, err := w.roundTrip(page)
			if err != nil {
				t.Fatal(err)
			}
			if want, same, err := only.compress(page); id != want || !bytes.Equal(object, same) || err != nil {
				t.Fatalf("level %d, page %d: not the object of %s, or %v", level, i, name, err)
			}
			if level != MaxEffort {
				continue
			}
			if want, same, err := fresh.compress(page); id != want || !bytes.Equal(object, same) || err != nil {
				t.Fatalf("page %d: a new compressor does not stand at level %d, or %v", i, level, err)
			}
		}
	}
}

// The dense codec gets about the share of the pages that the level stands for, once the chooser has
// seen some.
func TestAdaptiveShareFollowsEffort(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		base = compressible(t, base)
		for level, share := range pagescan.Shares {
			w := newAdjusted(t, level)
			const before, pages = 10_000, 2000
			chosen := 0
			for i := range before + pages {
				// In an order in which programs and kinds take turns.
				id, _, err := w.compress(base[i*7919%len(base)])
				if err != nil {
					t.Fatal(err)
				}
				if id == PageDense && i >= before {
					chosen++
				}
			}
			got, want := float64(chosen)/pages, float64(share)/256
			// The tolerance covers exploration, and bounds that move slowly: few large gains make
			// more of small shares.
			if math.Abs(got-want) > 0.1*want+0.06 || (share == 0 || share == 256) && got != want {
				t.Errorf("level %d: %.3f of the pages are dense, want about %.3f", level, got, want)
			}
		}
	})
}

// Between the ends an object is still that which its codec makes of the page, whatever came before;
// all levels read back.
func TestAdaptiveObjectsAreThoseOfItsCodecs(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		w := newWorker(t, "adaptive")
		only := map[ID]*worker{Page: newWorker(t, "page"), PageDense: newWorker(t, "page:dense")}
		counts := map[ID]int{}
		for i := 0; i < len(base); i += codectest.Stride() {
			adjust(t, w, i/100%(MaxEffort+1))
			id, object, err := w.roundTrip(base[i])
			if err != nil {
				t.Fatal(err)
			}
			if counts[id]++; id == Raw {
				continue
			}
			if sameID, same, err := only[id].compress(base[i]); id != sameID || !bytes.Equal(object, same) || err != nil {
				t.Fatalf("page %d: not the object of %s, or %v", i, id, err)
			}
		}
		if counts[Page] == 0 || counts[PageDense] == 0 {
			t.Errorf("the pages prove nothing: %v", counts)
		}
	})
}

// The same pages in the same order are divided in the same way.
func TestAdaptiveRepeatsItself(t *testing.T) {
	a, b := newAdjusted(t, 3), newAdjusted(t, 3)
	for i, page := range codectest.Generated()[:2000] {
		id, object, err := a.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		if other, same, err := b.compress(page); id != other || !bytes.Equal(object, same) || err != nil {
			t.Fatalf("page %d: %s, then %s, or %v", i, id, other, err)
		}
	}
}

// Over pages that differ in what the dense codec saves, adaptive finds some of those on which it
// saves much: it stores less than if as many pages were drawn.
func TestF057AdaptiveStoresLessThanADraw(t *testing.T) {
	base := compressible(t, codectest.Generated())
	size := func(w *worker, page []byte) int {
		_, object, err := w.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		return len(object)
	}
	fast, dense := newWorker(t, "page"), newWorker(t, "page:dense")
	for level := 1; level < MaxEffort; level++ {
		w := newAdjusted(t, level)
		ofFast, ofDense, stored, chosen, pages := 0, 0, 0, 0, 10_000
		for i := range pages {
			page := base[i*7919%len(base)]
			ofFast, ofDense = ofFast+size(fast, page), ofDense+size(dense, page)
			id, object, err := w.compress(page)
			if err != nil {
				t.Fatal(err)
			}
			if stored += len(object); id == PageDense {
				chosen++
			}
		}
		draw := ofFast - (ofFast-ofDense)*chosen/pages
		if t.Logf("level %d: %.3f dense, %.4f of what a draw stores", level, float64(chosen)/float64(pages), float64(stored)/float64(draw)); stored >= draw {
			t.Errorf("level %d: %d bytes, a draw of as many pages stores %d", level, stored, draw)
		}
	}
}
