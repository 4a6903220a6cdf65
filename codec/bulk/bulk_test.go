// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/internal/pages"
)

func parse(t testing.TB, name string) codec.Algorithm {
	t.Helper()
	a, err := codec.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newCPU(t testing.TB, algorithm string, workers int) *CPU {
	t.Helper()
	cpu, err := NewCPU(parse(t, algorithm), workers)
	if err != nil {
		t.Fatal(err)
	}
	return cpu
}

// newPlanner makes a planner that is closed at the end of the test.
func newPlanner(t testing.TB, cpu *CPU, c Config, engines ...Engine) *Planner {
	t.Helper()
	p, err := NewPlanner(cpu, engines, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// generated returns pages, none of them one word repeated.
var generated = sync.OnceValue(func() []byte {
	var out []byte
	for _, page := range pages.Mix(5000, 5) {
		if _, same := pagescan.SameFilled(page); !same {
			out = append(out, page...)
		}
	}
	return out
})

// somePages returns n of them in one buffer.
func somePages(n int) []byte { return slices.Clone(generated()[:n*codec.PageSize]) }

// realPages is the same of real pages where there are some.
func realPages(t testing.TB, n int) []byte {
	t.Helper()
	var out []byte
	real := pages.Real(t)
	for i := 0; len(out) < n*codec.PageSize; i++ {
		if _, same := pagescan.SameFilled(real[i%len(real)]); !same {
			out = append(out, real[i%len(real)]...)
		}
	}
	return out
}

// mixed makes objects of pages by several algorithms by turns, scattered over two regions, as a
// store's objects are. Between them are gaps.
func mixed(t testing.TB, all []byte, algorithms ...string) *Batch {
	t.Helper()
	n := len(all) / codec.PageSize
	b := NewBatch(Decompress, n)
	b.Pages = make([]byte, len(all))
	b.Regions = [][]byte{nil, nil}
	var compressors []codec.Compressor
	for _, name := range algorithms {
		c, err := parse(t, name).NewCompressor()
		if err != nil {
			t.Fatal(err)
		}
		compressors = append(compressors, c)
	}
	object := make([]byte, codec.PageSize)
	for i := range n {
		page := all[i*codec.PageSize : (i+1)*codec.PageSize]
		id, length, err := compressors[i%len(compressors)].Compress(object, page)
		if err != nil {
			t.Fatal(err)
		}
		from := object[:length]
		if id == codec.Raw {
			from = page
		}
		r := i % 2
		b.Region[i], b.Offset[i], b.Length[i], b.ID[i] = uint16(r), uint64(len(b.Regions[r])), uint32(length), id
		b.Regions[r] = append(append(b.Regions[r], from...), make([]byte, i%13)...)
	}
	return b
}

// checkPages wants the pages of a batch to be these.
func checkPages(t testing.TB, b *Batch, want []byte) {
	t.Helper()
	for i := range b.N {
		if b.Verdict[i] != Done {
			t.Fatalf("item %d (%s) is %s", i, b.ID[i], b.Verdict[i])
		}
		if !bytes.Equal(b.Page(i), want[i*codec.PageSize:(i+1)*codec.PageSize]) {
			t.Fatalf("item %d (%s) is another page", i, b.ID[i])
		}
	}
}

// run runs a batch and wants no error.
func run(t testing.TB, p *Planner, b *Batch) *Report {
	t.Helper()
	var r Report
	if err := p.Run(t.Context(), b, &r); err != nil {
		t.Fatal(err)
	}
	checkReport(t, &r, b)
	return &r
}

// checkReport wants the counters to add up and to be what the batch says.
func checkReport(t testing.TB, r *Report, b *Batch) {
	t.Helper()
	done, bytes := 0, int64(0)
	for _, e := range r.Engines {
		done += e.Items
		bytes += e.Objects
	}
	var verdict [verdicts]int
	objects := int64(0)
	for i, v := range b.Verdict[:b.N] {
		verdict[v]++
		if v == Done {
			objects += int64(b.Length[i])
		}
	}
	if done != b.N || r.Items != b.N || r.Verdicts != verdict || r.Objects != objects || bytes != objects {
		t.Errorf("%d items: %+v, verdicts %v, objects %d", b.N, r, verdict, objects)
	}
}

// shuffledSlots lets item i be page slot[i], in no order.
func shuffledSlots(n int) []uint32 {
	slots := make([]uint32, n)
	for i, slot := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		slots[i] = uint32(slot)
	}
	return slots
}

var everyAlgorithm = []string{"lz4", "page", "page:dense", "zstd(level=1)", "raw", "lz4:fast"}

// Pages go to their slots, on any engine.
func TestDecompress(t *testing.T) {
	const n = 3000
	all := somePages(n)
	for _, workers := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			b := mixed(t, all, everyAlgorithm...)
			p := newPlanner(t, newCPU(t, "lz4", workers), Config{}, newSecond(t, "lz4", codec.LZ4, codec.Page))
			run(t, p, b)
			checkPages(t, b, all)

			b.Slot = shuffledSlots(n)
			clear(b.Pages)
			run(t, p, b)
			want := make([]byte, len(all))
			for i, slot := range b.Slot {
				copy(want[int(slot)*codec.PageSize:], all[i*codec.PageSize:(i+1)*codec.PageSize])
			}
			if !bytes.Equal(b.Pages, want) {
				t.Error("not the pages at their slots")
			}
		})
	}
}

// Objects that were made of pages are read back without being moved, the raw ones too.
func TestCompress(t *testing.T) {
	const n = 2500
	all := somePages(n)
	for _, name := range []string{"lz4", "adaptive", "raw", "zstd(level=1)"} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t, newCPU(t, name, 3), Config{Items: n}, newSecond(t, name))
			b := NewBatch(Compress, n)
			b.Pages, b.Slot, b.Hash = all, shuffledSlots(n), make([]uint64, n)
			r := run(t, p, b)
			if r.Engines[1].Items == 0 && r.Fallbacks[Slow] == 0 {
				t.Errorf("%+v", r)
			}
			for i := range n {
				if b.Hash[i] != Hash(b.Page(i)) {
					t.Fatalf("item %d has another hash", i)
				}
			}
			back := *b
			back.Op, back.Pages, back.Hash = Decompress, make([]byte, len(all)), nil
			run(t, p, &back)
			if !bytes.Equal(back.Pages, all) {
				t.Error("the pages did not come back")
			}
		})
	}
}

// No two objects of a batch overlap, whichever engine made them, and even if pieces were done
// twice.
func TestObjectsLieApart(t *testing.T) {
	const n = 4000
	e := newSecond(t, "lz4")
	e.fail, e.spoil = func(piece int) error { return every(piece%2 == 1) }, true
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 300}, e)
	b := NewBatch(Compress, n)
	b.Pages = somePages(n)
	run(t, p, b)
	owner := make([]int32, len(b.Arena))
	for i := range n {
		if b.Region[i] != 0 {
			continue
		}
		for at := b.Offset[i]; at < b.Offset[i]+uint64(b.Length[i]); at++ {
			if owner[at] != 0 {
				t.Fatalf("items %d and %d share byte %d", owner[at]-1, i, at)
			}
			owner[at] = int32(i) + 1
		}
	}
}

func every(yes bool) error {
	if yes {
		return errInjected
	}
	return nil
}

// An object is what lies in its region, or nothing.
func TestObject(t *testing.T) {
	b := NewBatch(Verify, 1)
	b.Regions = [][]byte{nil, make([]byte, 100, 200)}
	for _, c := range []struct {
		region uint16
		offset uint64
		length uint32
		ok     bool
	}{
		{1, 0, 100, true}, {1, 90, 10, true}, {1, 100, 0, true}, {0, 0, 0, true}, {1, 0, 101, false}, {1, 90, 11, false}, {1, 101, 0, false},
		{0, 0, 1, false}, {2, 0, 0, false}, {1, math.MaxUint64, 1, false}, {1, 1, math.MaxUint32, false},
	} {
		b.Region[0], b.Offset[0], b.Length[0] = c.region, c.offset, c.length
		if object, ok := b.Object(0); ok != c.ok || ok && (len(object) != int(c.length) || cap(object) != len(object)) {
			t.Errorf("%+v: %d bytes, %v", c, len(object), ok)
		}
	}
}

// Verify needs no pages, and says of each object what Decompress says.
func TestVerify(t *testing.T) {
	const n = 2000
	all := somePages(n)
	b := mixed(t, all, everyAlgorithm...)
	b.Hash = make([]uint64, n)
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, newSecond(t, "lz4", codec.LZ4))
	run(t, p, b)
	hashes := append([]uint64(nil), b.Hash...)
	b.Op, b.Pages = Verify, nil
	clear(b.Hash)
	run(t, p, b)
	for i := range n {
		if want := Hash(all[i*codec.PageSize:][:codec.PageSize]); b.Hash[i] != want || hashes[i] != want {
			t.Fatalf("item %d: hash %x and %x, want %x", i, b.Hash[i], hashes[i], want)
		}
	}
}

// The pages of a cluster are read one by one.
func TestClusters(t *testing.T) {
	all := somePages(codec.ClusterPages * 150)
	b := NewBatch(Decompress, codec.ClusterPages*150)
	b.Pages, b.Index = make([]byte, len(all)), make([]uint8, b.N)
	var region []byte
	for i := range 150 {
		c, err := parse(t, "page:dense").NewClusterCompressor()
		if err != nil {
			t.Fatal(err)
		}
		var group [codec.ClusterPages][]byte
		for k := range group {
			group[k] = all[(codec.ClusterPages*i+k)*codec.PageSize : (codec.ClusterPages*i+k+1)*codec.PageSize]
		}
		object := make([]byte, codec.MaxClusterObject)
		id, length, err := c.CompressCluster(object, group)
		if err != nil {
			t.Fatal(err)
		}
		for k := range group {
			j := codec.ClusterPages*i + k
			b.Offset[j], b.Length[j], b.ID[j], b.Index[j] = uint64(len(region)), uint32(length), id, uint8(k)
			if id == codec.None { // nothing gained: the page stays raw
				b.Offset[j], b.Length[j], b.ID[j] = uint64(len(region)), codec.PageSize, codec.Raw
				region = append(region, group[k]...)
			}
		}
		region = append(region, object[:length]...)
	}
	b.Regions = [][]byte{region}
	run(t, newPlanner(t, newCPU(t, "lz4", 2), Config{}), b)
	checkPages(t, b, all)
}
