// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
	"github.com/zramfs/zramfs/internal/pages"
)

// compressed is what one launch left.
type compressed struct {
	said    []byte // the results as the kernel wrote them
	results []Result
	arena   []byte
	used    int // granules that were asked for
	stats   sim.Stats
}

// compress runs the compressor over pages, with an arena of the given granules.
func (d *device) compress(k *ptx.Kernel, all [][]byte, granules, limit int) compressed {
	d.Helper()
	c, err := d.tryCompress(k, all, granules, limit)
	if err != nil {
		d.Fatal(err)
	}
	return c
}

func (d *device) tryCompress(k *ptx.Kernel, all [][]byte, granules, limit int) (c compressed, err error) {
	d.Helper()
	in := d.input("pages", PageSize, bytes.Join(all, nil))
	results, arena := d.output("results", ResultSize, len(all)), d.output("arena", GranuleSize, max(granules, 1))
	cursor := d.alloc(sim.Spec{Name: "cursor", Size: 4}, make([]byte, 4))
	if c.stats, err = d.launch(k, len(all), in, results, arena, cursor, uint64(granules), uint64(limit), uint64(len(all))); err != nil {
		return c, err
	}
	c.said = d.read(results, ResultSize*len(all))
	c.results = readResults(c.said)
	c.arena, c.used = d.read(arena, GranuleSize*granules), int(binary.LittleEndian.Uint32(d.read(cursor, 4)))
	return c, nil
}

func readResults(b []byte) (all []Result) {
	for ; len(b) > 0; b = b[ResultSize:] {
		all = append(all, ReadResult(b))
	}
	return all
}

func (c compressed) object(r Result) []byte { return c.arena[r.Offset:][:r.Length] }

// judge holds everything that the kernel says against what the CPU says of the same pages, and
// returns what is wrong.
func (c compressed) judge(all [][]byte, limit int) error {
	var back [PageSize]byte
	needed, refused := 0, false
	for i, r := range c.results {
		want := modelCompress(all[i], limit)
		_, same := pagescan.SameFilled(all[i])
		kind := KindLZ4
		switch {
		case same:
			kind, want = KindSame, nil
		case len(want) == 0:
			kind = KindRaw
		case r.Kind == KindNoSpace:
			kind = KindNoSpace
		}
		needed += (len(want) + GranuleSize - 1) / GranuleSize
		switch {
		case r.Kind != kind || r.Word != binary.LittleEndian.Uint64(all[i]) || r.Hash != 0 || int(r.Length) != len(want):
			return fmt.Errorf("page %d: %+v, want kind %v and %d bytes", i, r, kind, len(want))
		case kind != KindLZ4:
		case int(r.Offset)+len(want) > len(c.arena) || !bytes.Equal(c.object(r), want):
			return fmt.Errorf("page %d: another object than the model's", i)
		case lz4.Decompress(back[:], c.object(r)) != nil || !bytes.Equal(back[:], all[i]):
			return fmt.Errorf("page %d: does not come back", i)
		}
		refused = refused || kind == KindNoSpace
	}
	if c.used != needed || refused != (needed*GranuleSize > len(c.arena)) {
		return fmt.Errorf("%d granules were taken, want %d; %d bytes of space, did not suffice: %v", c.used, needed, len(c.arena), refused)
	}
	return nil
}

func (c compressed) check(t *testing.T, all [][]byte, limit int) {
	t.Helper()
	if err := c.judge(all, limit); err != nil {
		t.Fatal(err)
	}
}

func TestCompressesPages(t *testing.T) {
	k := build(t, LZ4Compress)
	eachSource(t, fewer(150), func(t *testing.T, all [][]byte) {
		for seed := range uint64(2) {
			some := all[:len(all)>>(3*seed)]
			d := newDevice(t)
			d.Seed = seed
			d.compress(k, some, 256*len(some), PageSize).check(t, some, PageSize-1)
		}
	})
}

// Objects lie close to one another, each in granules of its own, whose last bytes are zero.
func TestObjectsArePacked(t *testing.T) {
	all := pages.Mix(60, 5)
	c := newDevice(t).compress(build(t, LZ4Compress), all, 256*len(all), PageSize)
	results := slices.DeleteFunc(c.results, func(r Result) bool { return r.Kind != KindLZ4 })
	slices.SortFunc(results, func(a, b Result) int { return int(a.Offset) - int(b.Offset) })
	end := 0
	for _, r := range results {
		if int(r.Offset) != end {
			t.Fatalf("an object at %d, want it at %d", r.Offset, end)
		}
		behind := int(r.Offset) + int(r.Length)
		end = (behind + GranuleSize - 1) / GranuleSize * GranuleSize
		if len(bytes.Trim(c.arena[behind:end], "\x00")) > 0 {
			t.Errorf("bytes behind the object of %d bytes at %d", r.Length, r.Offset)
		}
	}
	if len(results) < 20 || end != c.used*GranuleSize {
		t.Errorf("%d objects in %d bytes, the cursor says %d granules", len(results), end, c.used)
	}
}

// A page whose object is too long, or finds no space, is not written at all.
func TestLimitAndSpaceAreKept(t *testing.T) {
	all := pages.Generate(pages.Text, fewer(40), 6)
	k := build(t, LZ4Compress)
	for _, limit := range []int{0, 1, 2000, 2100, 2200, PageSize - 1, PageSize, 1 << 31} {
		newDevice(t).compress(k, all, 256*len(all), limit).check(t, all, min(limit, PageSize-1))
	}
	for _, granules := range []int{0, 1, 200, 256 * len(all)} {
		c := newDevice(t).compress(k, all, granules, PageSize)
		full := 0
		for i, r := range c.results {
			switch {
			case r.Kind == KindNoSpace && int(r.Length) == len(modelCompress(all[i], PageSize-1)):
				full++
			case r.Kind != KindLZ4 || !bytes.Equal(c.object(r), modelCompress(all[i], PageSize-1)):
				t.Fatalf("page %d: %+v", i, r)
			}
		}
		if want := granules < 256*len(all)/2; want != (full > 0) || granules < 2 && full < len(all) {
			t.Errorf("%d granules: no space for %d pages", granules, full)
		}
	}
}

// hardPages are hard on the details: lengths at which bytes of length begin, matches that end at
// the page's end, runs, hashes that are all the same.
func hardPages() [][]byte {
	rng := rand.New(rand.NewPCG(8, 9))
	var all [][]byte
	add := func(fill func(p []byte)) {
		p := make([]byte, PageSize)
		fill(p)
		all = append(all, p)
	}
	noise := func(p []byte) {
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
	}
	for _, n := range []int{1, 4, 5, 12, 13, 14, 15, 16, 17, 31, 32, 33, 269, 270, 271, 524, 525, 526, 780, 4000, 4083, 4084, 4085, 4091} {
		add(func(p []byte) { noise(p[:n]) })             // literals, then a run
		add(func(p []byte) { noise(p[PageSize-n:]) })    // the other way round
		add(func(p []byte) { noise(p[n/2 : n]) })        // a run on both sides
		add(func(p []byte) { noise(p); copy(p[n:], p) }) // a match at a distance
		add(func(p []byte) { noise(p[:min(n, 64)]); copy(p[min(n, 64):], p) })
	}
	for period := 1; period < 40; period++ {
		add(func(p []byte) {
			noise(p)
			for i := period + 100; i < 100+40*period && i < PageSize; i++ {
				p[i] = p[i-period]
			}
		})
	}
	add(noise)
	add(func(p []byte) { p[PageSize-1] = 1 })
	add(func(p []byte) { p[0] = 1 })
	return all
}

func TestCompressesHardPages(t *testing.T) {
	all := spread(hardPages(), fewer(len(hardPages())))
	newDevice(t).compress(build(t, LZ4Compress), all, 256*len(all), PageSize).check(t, all, PageSize-1)
}

// G.120: the objects are at most 5 % longer in all than those of the CPU.
func TestG120RatioIsThatOfTheCPU(t *testing.T) {
	eachSource(t, fewer(2000), func(t *testing.T, all [][]byte) {
		ours, theirs := 0, 0
		for _, p := range all {
			ours += orRaw(len(modelCompress(p, PageSize-1)))
			theirs += orRaw(len(lz4Object(t, p)))
		}
		t.Logf("ratio %.3f, codec/lz4 %.3f: %.3f of it", ratio(all, ours), ratio(all, theirs), float64(theirs)/float64(ours))
		if float64(ours) > 1.05*float64(theirs) {
			t.Errorf("%d bytes, codec/lz4 makes %d", ours, theirs)
		}
	})
}

// orRaw is what a page takes that has an object of n bytes: itself, if there is none or if that is
// longer.
func orRaw(n int) int {
	if n == 0 || n > PageSize {
		return PageSize
	}
	return n
}

func ratio(all [][]byte, bytes int) float64 { return float64(PageSize*len(all)) / float64(bytes) }
