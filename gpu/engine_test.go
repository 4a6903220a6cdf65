// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/internal/pages"
)

// large is a batch that keeps the ring busy, of as many pages as there is time for.
func large() int {
	if testing.Short() {
		return 80
	}
	return 999
}

// simulated makes n small devices.
func simulated(n int) *driver.Simulator {
	return driver.NewSimulator(make([]driver.SimulatedDevice, n)...)
}

// small are options with which the simulator is not kept busy for long.
func small() Options {
	return Options{Batch: 64, Slots: 4, Path: Copied, Compress: true, Driver: driver.Options{Limit: patience}}
}

// patience is more than a simulated kernel ever takes, also on a machine that is busy with
// something else.
const patience = 2 * time.Minute

func openEngine(tb testing.TB, s *driver.Simulator, o Options) *Engine {
	tb.Helper()
	d, err := s.Driver()
	if err != nil {
		tb.Fatal(err)
	}
	e, err := Open(d, o)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// newPlanner makes a planner over LZ4 and engines, which is closed at the end of the test, as they
// are.
func newPlanner(tb testing.TB, mode bulk.Mode, engines ...bulk.Engine) *bulk.Planner {
	tb.Helper()
	a, err := codec.Parse("lz4")
	if err != nil {
		tb.Fatal(err)
	}
	cpu, err := bulk.NewCPU(a, 2)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := bulk.NewPlanner(cpu, engines, bulk.Config{Mode: mode})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func run(tb testing.TB, p *bulk.Planner, b *bulk.Batch) bulk.Report {
	tb.Helper()
	var r bulk.Report
	if err := p.Run(context.Background(), b, &r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// memory is n pages of all kinds.
func memory(n int, seed uint64) []byte { return bytes.Join(pages.Mix(n, seed), nil) }

// aligned is memory that can be registered with a simulated device, which takes it from anywhere.
func aligned(n int) []byte {
	all := make([]byte, n+codec.PageSize)
	from := -int(addressOf(all)) & (codec.PageSize - 1)
	return all[from : from+n : from+n]
}

// objects makes a batch to decompress: the pages by turns of two algorithms, and by one that no
// kernel reads, some of them damaged.
func objects(tb testing.TB, all []byte, damaged bool) *bulk.Batch {
	tb.Helper()
	return objectsBy(tb, all, damaged, "lz4", "page", "lz4", "page", "zstd")
}

// objectsBy does so by turns of some algorithms.
func objectsBy(tb testing.TB, all []byte, damaged bool, names ...string) *bulk.Batch {
	tb.Helper()
	var makers []codec.Compressor
	for _, name := range names {
		a, err := codec.Parse(name)
		if err != nil {
			tb.Fatal(err)
		}
		c, err := a.NewCompressor()
		if err != nil {
			tb.Fatal(err)
		}
		makers = append(makers, c)
	}
	n := len(all) / codec.PageSize
	b := bulk.NewBatch(bulk.Decompress, n)
	region, at := aligned(n*2*codec.PageSize+sectorBytes), 0
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		page := all[i*codec.PageSize:][:codec.PageSize]
		id, length, err := makers[i%len(makers)].Compress(region[at:at+codec.PageSize], page)
		if err != nil {
			tb.Fatal(err)
		}
		if id == codec.Raw {
			copy(region[at:], page)
		}
		b.Offset[i], b.Length[i], b.ID[i] = uint64(at), uint32(length), id
		if damaged && i%3 == 0 {
			damage(b, i, region[at:at+length], random)
		}
		at += length + random.IntN(40)
	}
	b.Regions = [][]byte{region}
	b.Pages, b.Hash = make([]byte, len(all)), make([]uint64, n)
	return b
}

// damage changes an object, its length or where it is said to be.
func damage(b *bulk.Batch, i int, object []byte, random *rand.Rand) {
	switch random.IntN(8) {
	case 0:
		b.Length[i] = 0
	case 1:
		b.Length[i] = 1 << 20
	case 2:
		b.Offset[i] = 1 << 40
	case 3:
		b.Length[i] = uint32(random.IntN(len(object)))
	default:
		object[random.IntN(len(object))] ^= byte(1 + random.IntN(255))
	}
}

// copyOf is the same batch with results of its own, for another to do.
func copyOf(b *bulk.Batch, op bulk.Op) *bulk.Batch {
	c := *b
	c.Op = op
	c.Pages = make([]byte, len(b.Pages))
	c.Verdict, c.Hash = make([]bulk.Verdict, b.N), make([]uint64, b.N)
	return &c
}

// same compares what is said of each item, and the pages of those that are done.
func same(tb testing.TB, got, want *bulk.Batch) {
	tb.Helper()
	for i := range want.N {
		if got.Verdict[i] != want.Verdict[i] {
			tb.Fatalf("item %d, %s: verdict %s, want %s", i, want.ID[i], got.Verdict[i], want.Verdict[i])
		}
		if want.Verdict[i] != bulk.Done {
			continue
		}
		if got.Hash[i] != want.Hash[i] {
			tb.Fatalf("item %d: hash %#x, want %#x", i, got.Hash[i], want.Hash[i])
		}
		if want.Op == bulk.Decompress && got.Op == bulk.Decompress && !bytes.Equal(got.Page(i), want.Page(i)) {
			tb.Fatalf("page %d differs", i)
		}
	}
}

// F036-F039, G.110: pages, verdicts and hashes are the same on each engine, in batches of any size,
// damaged or not, by each path.
func TestF036ReadsTheSameAsTheCPU(t *testing.T) {
	cpu := newPlanner(t, bulk.CPUAlone)
	for _, path := range []Path{Copied, InPlace, Straight} {
		e := openEngine(t, simulated(1), Options{Batch: 64, Path: path, Driver: driver.Options{Limit: patience}})
		p := newPlanner(t, bulk.EnginesAlone, e)
		for _, n := range []int{1, 2, 7, large()} {
			for _, damaged := range []bool{false, true} {
				b := objects(t, memory(n, uint64(n)), damaged)
				want := copyOf(b, bulk.Decompress)
				run(t, cpu, want)
				if path != Copied {
					if err := e.Register(b.Regions[0], false); err != nil {
						t.Fatal(err)
					}
				}
				report := run(t, p, b)
				same(t, b, want)
				verify := copyOf(b, bulk.Verify)
				run(t, p, verify)
				same(t, verify, want)
				if path != Copied {
					if err := e.Unregister(b.Regions[0]); err != nil {
						t.Fatal(err)
					}
				}
				if n == large() && !damaged && report.Share(e.Name()) < 0.7 {
					t.Errorf("%s: the engine did %.2f of the batch: %+v", path, report.Share(e.Name()), report)
				}
			}
		}
		if s := e.Stats(bulk.Decompress); s.Pieces == 0 || s.Failed != 0 || s.Times.Kernel <= 0 || s.Total <= 0 || s.In <= 0 || s.Out < s.Pages || !s.Times.Outweighs() {
			t.Errorf("%s: %+v", path, s)
		} else if path == InPlace && s.In > s.Pages*100 {
			t.Errorf("in place, but %d bytes went to the device for %d pages", s.In, s.Pages)
		}
	}
}

// The CPU reads back the objects that the engine makes; by and large both keep the same pages raw.
func TestCompressesWhatTheCPUReads(t *testing.T) {
	cpu := newPlanner(t, bulk.CPUAlone)
	e := openEngine(t, simulated(1), small())
	p := newPlanner(t, bulk.EnginesAlone, e)
	for _, n := range []int{1, 66, large()} {
		b := bulk.NewBatch(bulk.Compress, n)
		b.Pages, b.Hash = memory(n, uint64(n)), make([]uint64, n)
		report := run(t, p, b)
		back := copyOf(b, bulk.Decompress)
		run(t, cpu, back)
		same(t, back, b)
		if !bytes.Equal(back.Pages, b.Pages) {
			t.Fatalf("%d pages do not come back", n)
		}
		if n >= 66 && report.Share(e.Name()) < 0.7 {
			t.Errorf("the engine did %.2f of the batch: %+v", report.Share(e.Name()), report)
		}
		theirs := bulk.NewBatch(bulk.Compress, n)
		theirs.Pages = b.Pages
		if reference := run(t, cpu, theirs); float64(report.Objects) > 1.05*float64(reference.Objects) {
			t.Errorf("%d pages have objects of %d bytes, by the CPU %d", n, report.Objects, reference.Objects)
		}
		for i := range n {
			if b.ID[i] == codec.LZ4 && int(b.Length[i]) > longestObject {
				t.Errorf("object %d has %d bytes", i, b.Length[i])
			}
		}
	}
}

// longestObject is package codec's, which it does not tell: it keeps an object of that size and
// none that is longer.
func TestLongestObjectIsTheCodecs(t *testing.T) {
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	near := 0
	for range 3000 {
		page, object := make([]byte, codec.PageSize), make([]byte, kernels.MaxLZ4Object)
		for i := range page {
			page[i] = byte(random.Uint32())
		}
		for range 8 {
			at := random.IntN(codec.PageSize - 80)
			clear(page[at : at+20+random.IntN(60)])
		}
		id, _, err := c.Compress(object[:codec.PageSize], page)
		if err != nil {
			t.Fatal(err)
		}
		n, err := new(lz4.Encoder).Compress(object, page)
		if err != nil {
			t.Fatal(err)
		}
		if (id == codec.LZ4) != (n <= longestObject) {
			t.Errorf("an object of %d bytes is kept as %s, the engine's limit is %d", n, id, longestObject)
		}
		if n >= longestObject-2 && n <= longestObject+2 {
			near++
		}
	}
	if near < 2 {
		t.Errorf("%d objects were at the limit", near)
	}
}

func TestKernelsAreWhereTheEngineLooks(t *testing.T) {
	var names []string
	for _, k := range kernels.All() {
		names = append(names, k.Name)
	}
	if want := []string{"lz4_compress", "lz4_decompress", "lz4_prove", "lz4_verify", "page_decompress", "page_verify"}; !slices.Equal(names, want) || len(want) != kernelCount {
		t.Errorf("kernels are %v", names)
	}
	for page := memory(1, 1); len(page) > 0; page = page[1:] {
		if kernels.Hash(page) != bulk.Hash(page) {
			t.Fatalf("kernels hash %d bytes otherwise than package bulk", len(page))
		}
	}
}

// No piece has to wait for a translation, which takes a device's driver longer than thousands of
// pages take: a planner would think the engine slow for gigabytes.
func TestPiecesTranslateNothing(t *testing.T) {
	for _, compress := range []bool{true, false} {
		s, o := simulated(1), small()
		o.Compress = compress
		e := openEngine(t, s, o)
		want := kernelCount
		if !compress {
			want -= 2 // no caller will ask for objects
		}
		if got := s.Calls()["cuModuleLoadDataEx"]; got != int(want) {
			t.Errorf("compress %v: %d kernels are translated when the engine is opened, want %d", compress, got, want)
		}
		p := newPlanner(t, bulk.EnginesAlone, e)
		b := objects(t, memory(20, 7), false)
		run(t, p, b)
		verify := copyOf(b, bulk.Verify)
		run(t, p, verify)
		if compress {
			made := bulk.NewBatch(bulk.Compress, b.N)
			made.Pages = b.Pages
			run(t, p, made)
		}
		if got := s.Calls()["cuModuleLoadDataEx"]; got != int(want) {
			t.Errorf("compress %v: %d kernels are translated after pieces of all kinds, want %d", compress, got, want)
		}
	}
}

func TestF045TooLittleMemory(t *testing.T) {
	s := driver.NewSimulator(driver.SimulatedDevice{Memory: 1 << 20})
	d, err := s.Driver()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(d, Options{Path: Copied}); !errors.Is(err, driver.OutOfMemory) {
		t.Errorf("open answers %v", err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, o := range []Options{{Batch: -1}, {Slots: -1}, {Batch: maxBatch + 1}, {Slots: maxSlots + 1}, {Path: Straight + 1}, {Device: 1}} {
		if _, err := Open(d, o); !errors.Is(err, driver.ErrArgument) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
