// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/internal/pages"
)

// valuesPage returns a page in which as many values are equally frequent, in an order without
// repetition.
func valuesPage(t *testing.T, values int) []byte {
	t.Helper()
	page := make([]byte, PageSize)
	for i, v := range pages.Generate(pages.Random, 1, uint64(values))[0] {
		page[i] = byte(int(v) * values / 256)
	}
	return page
}

// The rule chooses by entropy alone; what it chose is then kept only if it is smaller.
func TestEntropyRule(t *testing.T) {
	sparse := make([]byte, PageSize)
	for at := 0; at < PageSize; at += 128 {
		sparse[at] = byte(at / 128)
	}
	cases := []struct {
		what     string
		page     []byte
		low, top float64
		want     ID
	}{
		{"nearly all zero", sparse, 0, 0.5, LZ4},
		{"8 values", valuesPage(t, 8), 0.5, 4, Zstd},
		{"32 values", valuesPage(t, 32), 4, 6, Zstd},
		{"100 values", valuesPage(t, 100), 6, 8, Raw},
		{"text and noise", append(pages.Generate(pages.Text, 1, 1)[0][:2048:2048], pages.Generate(pages.Random, 1, 1)[0][:2048]...), 6, 8, Raw},
	}
	w := newWorker(t, "adaptive:entropy")
	for _, c := range cases {
		if h := pagescan.Entropy(c.page); h < c.low || h >= c.top {
			t.Errorf("%s: entropy is %v, the case wants %v to %v", c.what, h, c.low, c.top)
		}
		if id, _, err := w.roundTrip(c.page); id != c.want || err != nil {
			t.Errorf("%s: stored as %s, %v, not as %s", c.what, id, err, c.want)
		}
	}
}

// Below 4 bits the rule takes zstd level 3, from there level 1.
func TestEntropyRuleLevels(t *testing.T) {
	w, dense, light := newWorker(t, "adaptive:entropy"), newWorker(t, "zstd(level=3)"), newWorker(t, "zstd(level=1)")
	seen := map[bool]int{}
	for i, page := range codectest.Generated()[:2000] {
		h := pagescan.Entropy(page)
		if h < 0.5 || h >= 6 {
			continue
		}
		_, object, err := w.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		same := light
		if h < 4 {
			same = dense
		}
		_, want, err := same.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		if string(object) != string(want) {
			t.Fatalf("page %d of entropy %v: not the object that its level makes", i, h)
		}
		seen[h < 4]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("the pages prove nothing: %v", seen)
	}
}

// Every algorithm that makes objects of an ID which is the Only one of some algorithm makes the
// same ones.
func TestOnly(t *testing.T) {
	only := map[ID]*worker{}
	for _, name := range []string{"page", "page:dense"} {
		a, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		only[a.Only()] = newWorker(t, name)
	}
	if len(only) != 2 || only[None] != nil {
		t.Fatalf("the IDs are %v", slices.Collect(maps.Keys(only)))
	}
	seen := map[ID]int{}
	eachAlgorithm(t, every(), func(t *testing.T, name string, w *worker) {
		for i, page := range codectest.Generated()[:500] {
			id, got, err := w.roundTrip(page)
			if err != nil {
				t.Fatal(err)
			}
			if only[id] == nil {
				continue
			}
			seen[id]++
			if _, want, err := only[id].roundTrip(page); err != nil || !bytes.Equal(got, want) {
				t.Errorf("page %d: %s is stored in %d bytes, by %s in %d (%v)", i, id, len(got), name, len(want), err)
			}
		}
	})
	if seen[Page] == 0 || seen[PageDense] == 0 {
		t.Errorf("objects seen: %v", seen)
	}
}
