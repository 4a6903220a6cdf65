// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// benchItems is 64 MiB of pages, more than any cache of one core.
const benchItems = 16384

// BenchmarkF063Scaling is the CPU alone, with one worker and with as many as there are cores, and a
// plain loop over the same objects with one core's codec, by turns. Of each the shortest time
// counts, since whatever comes in between makes it longer. One worker is to reach 0.9 of the loop,
// two on two cores 1.8 times one.
func BenchmarkF063Scaling(b *testing.B) {
	all := realPages(b, benchItems)
	for _, name := range []string{"lz4", "page", "page:dense"} {
		objects := mixed(b, all, name)
		made := NewBatch(Compress, benchItems)
		made.Pages = all
		verified := *objects
		verified.Op = Verify
		for _, batch := range []*Batch{objects, &verified, made} {
			b.Run(name+"/"+batch.Op.String(), func(b *testing.B) { benchTurns(b, name, batch) })
		}
	}
}

func benchTurns(b *testing.B, name string, batch *Batch) {
	workers := runtime.GOMAXPROCS(0)
	loop := newLoop(b, name)
	one := newPlanner(b, newCPU(b, name, 1), Config{Items: benchItems})
	every := newPlanner(b, newCPU(b, name, workers), Config{Items: benchItems})
	best := [3]time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
	for b.Loop() {
		for i, do := range []func() error{
			func() error { return loop.do(batch) },
			func() error { return one.Run(b.Context(), batch, nil) },
			func() error { return every.Run(b.Context(), batch, nil) },
		} {
			began := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			best[i] = min(best[i], time.Since(began))
		}
	}
	speed := func(i int) float64 { return benchItems * codec.PageSize / 1e6 / best[i].Seconds() }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(speed(0), "loop-MB/s")
	b.ReportMetric(speed(1)/speed(0), "one/loop")
	b.ReportMetric(speed(2)/speed(1), fmt.Sprintf("%d-workers/one", workers))
}

// A loop does batches with nothing but the codec.
type loop struct {
	d *codec.Decompressor
	c codec.Compressor
}

func newLoop(b *testing.B, name string) *loop {
	d, err := parse(b, name).NewDecompressor()
	if err != nil {
		b.Fatal(err)
	}
	c, err := parse(b, name).NewCompressor()
	if err != nil {
		b.Fatal(err)
	}
	return &loop{d, c}
}

func (l *loop) do(batch *Batch) error {
	var page [codec.PageSize]byte
	for i := range batch.N {
		var err error
		switch object, _ := batch.Object(i); batch.Op {
		case Compress:
			_, _, err = l.c.Compress(batch.Arena[i*codec.PageSize:(i+1)*codec.PageSize], batch.Page(i))
		case Decompress:
			err = l.d.Decompress(batch.Page(i), batch.ID[i], object)
		default:
			err = l.d.Decompress(page[:], batch.ID[i], object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An item is one of a batch that is an array of structures: as BenchmarkF056Layout compares it.
type item struct {
	offset  uint64
	hash    uint64
	length  uint32
	slot    uint32
	region  uint16
	id      codec.ID
	index   uint8
	verdict Verdict
}

// BenchmarkF056Layout compares a batch's arrays (structure of arrays) with an array of structures:
// clearing the verdicts and sorting the items by codec, which one core does for all others; the
// addresses and lengths of a piece for a GPU; and decompressing itself, by one core. For the first
// two the batch has 4 GiB of pages, but only its arrays exist.
func BenchmarkF056Layout(b *testing.B) {
	const many = 1 << 20
	all := realPages(b, benchItems)
	soa := mixed(b, all, "lz4", "page", "zstd(level=1)")
	p := newPlanner(b, newCPU(b, "lz4", 1), Config{Items: many}, newSecond(b, "lz4", codec.LZ4))
	lane := &p.cpu.lanes[0]
	bench := func(name string, n int, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
		})
	}
	items := structures(soa)
	bench("decompress/structure of arrays", benchItems, func() {
		clear(soa.Verdict)
		lane.decompress(Piece{Batch: soa, Items: p.order.identity[:benchItems]})
	})
	bench("decompress/array of structures", benchItems, func() { decompressItems(lane, soa, items) })

	large := repeated(soa, many)
	items = structures(large)
	bench("order/structure of arrays", many, func() {
		clear(large.Verdict)
		p.order.sort(large, &p.classes[Decompress])
	})
	bench("order/array of structures", many, func() { sortItems(&p.order, items, &p.classes[Decompress]) })
	addresses, lengths, bases := make([]uint64, many), make([]uint32, many), []uint64{1 << 40, 2 << 40}
	bench("gather/structure of arrays", many, func() {
		for k, i := range p.order.items {
			addresses[k], lengths[k] = bases[large.Region[i]]+large.Offset[i], large.Length[i]
		}
	})
	bench("gather/array of structures", many, func() {
		for k, i := range p.order.items {
			addresses[k], lengths[k] = bases[items[i].region]+items[i].offset, items[i].length
		}
	})
}

// structures is a batch as array of structures.
func structures(b *Batch) []item {
	items := make([]item, b.N)
	for i := range items {
		items[i] = item{offset: b.Offset[i], length: b.Length[i], slot: uint32(i), region: b.Region[i], id: b.ID[i]}
	}
	return items
}

// repeated is a batch of n items, those of b over and over.
func repeated(b *Batch, n int) *Batch {
	large := NewBatch(b.Op, n)
	for i := range n {
		k := i % b.N
		large.Region[i], large.Offset[i], large.Length[i], large.ID[i] = b.Region[k], b.Offset[k], b.Length[k], b.ID[k]
	}
	return large
}

// sortItems is order.sort for an array of structures.
func sortItems(o *order, items []item, c *classing) {
	clear(o.counts[:])
	for i := range items {
		items[i].verdict = Pending
		o.counts[c.of[items[i].id]]++
	}
	var next [257]int
	for i, at := 0, 0; i < len(c.classes); i++ {
		next[i] = at
		at += o.counts[i]
	}
	o.items = o.sorted[:len(items)]
	for i := range items {
		class := c.of[items[i].id]
		o.items[next[class]] = uint32(i)
		next[class]++
	}
}

// decompressItems is cpuLane.decompress for an array of structures; b has the memory that they
// point to.
func decompressItems(l *cpuLane, b *Batch, items []item) {
	for i := range items {
		it := &items[i]
		object := b.Regions[it.region][it.offset : it.offset+uint64(it.length)]
		it.verdict = Done
		if err := l.decompressor.Decompress(b.Pages[int(it.slot)*codec.PageSize:][:codec.PageSize], it.id, object); err != nil {
			it.verdict = Corrupt
		}
	}
}
