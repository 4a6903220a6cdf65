// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// An entry that points nowhere, or to another object than its ID says, is corrupt, and all others
// are done.
func TestCorruptItems(t *testing.T) {
	const n = 1200
	all := somePages(n)
	want := map[int]Verdict{}
	for name, engines := range map[string][]Engine{"CPU": nil, "second": {newSecond(t, "lz4", codec.LZ4)}} {
		t.Run(name, func(t *testing.T) {
			b := mixed(t, all, "lz4")
			spoil := func(i int, f func()) {
				f()
				want[i] = Corrupt
			}
			spoil(1, func() { b.Region[1] = 2 })
			spoil(10, func() { b.Offset[10] = math.MaxUint64 })
			spoil(100, func() { b.Offset[100], b.Length[100] = 1, math.MaxUint32 })
			spoil(200, func() { b.Offset[200] = uint64(len(b.Regions[0])) - 10 })
			spoil(202, func() { b.Offset[202] = uint64(len(b.Regions[0])) + 1 })
			spoil(500, func() { b.ID[500] = codec.None })
			spoil(501, func() { b.ID[501] = 200 })
			spoil(502, func() { b.ID[502], b.Length[502] = codec.Raw, 4095 })
			spoil(503, func() { b.ID[503] = codec.PageDenseCluster })
			spoil(1100, func() { b.Length[1100] = 0 })
			b.ID[1101] = codec.ZstdDict
			want[1101] = NoDictionary
			p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone}, engines...)
			run(t, p, b)
			for i := range n {
				if b.Verdict[i] != max(want[i], Done) {
					t.Errorf("item %d is %s, want %s", i, b.Verdict[i], max(want[i], Done))
				}
			}
		})
	}
}

// The verdict on damaged objects is the CPU's, whichever engine got them.
func TestVerdictsAreTheCPUs(t *testing.T) {
	const n = 2000
	b := mixed(t, somePages(n), "lz4", "page")
	for i := range n {
		if object, _ := b.Object(i); i%3 == 0 {
			object[i%len(object)] ^= 1 << (i % 8)
		}
	}
	alone := newPlanner(t, newCPU(t, "lz4", 1), Config{Mode: CPUAlone})
	run(t, alone, b)
	verdict, pages := slices.Clone(b.Verdict), slices.Clone(b.Pages)
	if c := count(verdict, Corrupt); c < 100 || c > n/3 {
		t.Fatalf("%d corrupt items prove nothing", c)
	}
	e := newSecond(t, "lz4", codec.LZ4)
	both := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone}, e)
	r := run(t, both, b)
	if !slices.Equal(verdict, b.Verdict) {
		t.Error("other verdicts")
	}
	for i := range n {
		at := i * codec.PageSize
		if verdict[i] == Done && !slices.Equal(pages[at:at+codec.PageSize], b.Page(i)) {
			t.Fatalf("item %d is another page", i)
		}
	}
	if left := r.Fallbacks[Left]; left == 0 || left > r.Verdicts[Corrupt] {
		t.Errorf("%+v: the second engine left %d", r, left)
	}
}

func count(verdicts []Verdict, v Verdict) (n int) {
	for _, w := range verdicts {
		if v == w {
			n++
		}
	}
	return n
}

// No engine does the items that Before excludes, and After sees all others.
func TestHooks(t *testing.T) {
	const n = 3000
	all := somePages(n)
	for _, op := range []Op{Decompress, Compress} {
		t.Run(op.String(), func(t *testing.T) {
			e := newSecond(t, "lz4", codec.LZ4)
			e.fail = func(piece int) error { return every(piece == 2) }
			e.leave = func(i uint32) bool { return i%500 == 1 }
			b := mixed(t, all, "lz4", "page")
			if op == Compress {
				b = NewBatch(Compress, n)
				b.Pages = all
			}
			finished := make([]uint8, n)
			b.Before = func(items []uint32) {
				for _, i := range items {
					if i%10 == 0 {
						b.Verdict[i] = Skipped
					}
				}
			}
			b.After = func(items []uint32) {
				for _, i := range items {
					if b.Verdict[i] == Done {
						finished[i]++
					}
				}
			}
			p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 200}, e)
			run(t, p, b)
			for i := range n {
				want, times := Done, uint8(1)
				if i%10 == 0 {
					want, times = Skipped, 0
				}
				if b.Verdict[i] != want || finished[i] != times {
					t.Fatalf("item %d is %s, and finished %d times", i, b.Verdict[i], finished[i])
				}
			}
		})
	}
}

// A batch that does not fit together is refused before anything is done.
func TestUnfitBatches(t *testing.T) {
	p := newPlanner(t, newCPU(t, "lz4", 1), Config{})
	for name, spoil := range map[string]func(b *Batch){
		"operation": func(b *Batch) { b.Op = ops },
		"negative":  func(b *Batch) { b.N = -1 },
		"too many":  func(b *Batch) { b.N = MaxItems + 1 },
		"offsets":   func(b *Batch) { b.Offset = b.Offset[:9] },
		"lengths":   func(b *Batch) { b.Length = nil },
		"verdicts":  func(b *Batch) { b.Verdict = b.Verdict[:9] },
		"slots":     func(b *Batch) { b.Slot = make([]uint32, 9) },
		"slot":      func(b *Batch) { b.Slot = make([]uint32, 10); b.Slot[9] = 10 },
		"hashes":    func(b *Batch) { b.Hash = make([]uint64, 9) },
		"indexes":   func(b *Batch) { b.Index = make([]uint8, 9) },
		"pages":     func(b *Batch) { b.Pages = b.Pages[:len(b.Pages)-1] },
		"arena":     func(b *Batch) { b.Op, b.Arena = Compress, make([]byte, 9*codec.PageSize) },
	} {
		t.Run(name, func(t *testing.T) {
			b := mixed(t, somePages(10), "lz4")
			spoil(b)
			if err := p.Run(t.Context(), b, nil); !errors.Is(err, ErrBatch) {
				t.Errorf("%v", err)
			}
		})
	}
	empty := NewBatch(Verify, 0)
	run(t, p, empty)
}

// Nothing outside of a batch's pages and of its arena is written, and nothing inside that is not
// its own.
func TestOtherPagesStay(t *testing.T) {
	const n = 200
	b := mixed(t, somePages(n), "lz4", "zstd(level=1)")
	b.Pages = make([]byte, 3*n*codec.PageSize)
	b.Slot = make([]uint32, n)
	for i := range b.Slot {
		b.Slot[i] = uint32(3*i + 1)
	}
	for i := range b.Pages {
		b.Pages[i] = 0xab
	}
	run(t, newPlanner(t, newCPU(t, "lz4", 2), Config{}), b)
	for slot := range 3 * n {
		page := b.Pages[slot*codec.PageSize : (slot+1)*codec.PageSize]
		if touched := slices.ContainsFunc(page, func(c byte) bool { return c != 0xab }); touched != (slot%3 == 1) {
			t.Fatalf("slot %d: touched %v", slot, touched)
		}
	}
}
