// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"testing"

	"zramfs/codec/internal/codectest"
	"zramfs/codec/lz4"
	"zramfs/codec/pagescan"
	"zramfs/internal/pages"
)

// fullLZ4 returns the length of a page's LZ4 object, however long.
func fullLZ4(t *testing.T, enc *lz4.Encoder, page []byte) int {
	t.Helper()
	object := make([]byte, lz4.MaxObject)
	n, err := enc.Compress(object, page)
	if err != nil || n == 0 {
		t.Fatalf("compress gave %d bytes: %v", n, err)
	}
	return n
}

// adaptive stores a page as LZ4 exactly where that takes at most 3072 bytes, and loses nothing to lz4 elsewhere.
func TestAdaptiveTakesLZ4WhereItFits(t *testing.T) {
	counts := map[ID]int{} // over all sources: a sample of real pages may hold none for zstd
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		w, only := newWorker(t, "adaptive"), newWorker(t, "lz4")
		var enc lz4.Encoder
		for i := 0; i < len(base); i += 1 + len(base)*codectest.Stride()/4000 {
			id, object, err := w.roundTrip(base[i])
			if err != nil {
				t.Fatal(err)
			}
			counts[id]++
			full := fullLZ4(t, &enc, base[i])
			if (id == LZ4) != (full <= 3072) {
				t.Fatalf("page %d: LZ4 takes %d bytes, and it was stored as %s", i, full, id)
			}
			_, other, err := only.compress(base[i])
			if err != nil {
				t.Fatal(err)
			}
			// Where zstd stands in for LZ4 it may lose a few bytes of a page that hardly compresses.
			if len(object) > len(other)+PageSize/16 {
				t.Errorf("page %d: %d bytes, and %d by lz4", i, len(object), len(other))
			}
		}
	})
	if counts[LZ4] == 0 || counts[Zstd] == 0 {
		t.Errorf("the pages prove nothing: %v", counts)
	}
}

// valuesPage returns a page in which as many values are equally frequent, in an order without repetition.
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
