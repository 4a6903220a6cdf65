// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"errors"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// unlessShort is how many are done, or how many where there is little time, as under the race
// detector.
func unlessShort(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

// thereAndBack has the engine alone compress pages and decompress the objects.
func thereAndBack(t *testing.T, e *Engine, all []byte) {
	t.Helper()
	n := len(all) / codec.PageSize
	b := bulk.NewBatch(bulk.Compress, n)
	b.Pages = bytes.Clone(all)
	b.Regions = [][]byte{b.Arena, b.Pages}
	if _, err := e.Do(context.Background(), 0, piece(b)); err != nil {
		t.Fatal(err)
	}
	back := copyOf(b, bulk.Decompress)
	objects := 0
	for i := range n {
		if b.Verdict[i] != bulk.Done {
			t.Fatalf("of %d pages, page %d is %s", n, i, b.Verdict[i])
		}
		if b.ID[i] == codec.Raw { // which is not for the engine
			copy(back.Page(i), b.Page(i))
			back.Verdict[i] = bulk.Done
			continue
		}
		objects++
	}
	if _, err := e.Do(context.Background(), 0, piece(back)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if back.Verdict[i] != bulk.Done {
			t.Fatalf("of %d objects, object %d is %s", n, i, back.Verdict[i])
		}
	}
	if !bytes.Equal(back.Pages, all) {
		t.Fatalf("%d pages do not come back", n)
	}
	if n > 6 && objects < n/2 {
		t.Errorf("%d objects of %d pages prove little", objects, n)
	}
}

// F037: one page at a time, of each kind, by the engine alone.
func TestF037BatchOfOne(t *testing.T) {
	e := openEngine(t, simulated(1), small())
	n := unlessShort(40, 10)
	all := memory(n, 37)
	for at := 0; at < len(all); at += codec.PageSize {
		thereAndBack(t, e, all[at:at+codec.PageSize])
	}
	if s := e.Stats(bulk.Compress); s.Pieces != int64(n) || s.Pages != int64(n) {
		t.Errorf("%d pages one by one: %+v", n, s)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// F038: a batch of as many pages as the device's cache of the second level has room for, in one
// slot; and the largest that its memory has room for.
func TestF038LargestBatches(t *testing.T) {
	t.Run("L2", func(t *testing.T) {
		cached := unlessShort(96, 24)
		s := driver.NewSimulator(driver.SimulatedDevice{L2: cached * codec.PageSize})
		o := small()
		o.Batch, o.Slots = cached, 1
		e := openEngine(t, s, o)
		if got := e.Properties().L2 / codec.PageSize; got != cached {
			t.Errorf("the cache has room for %d pages, want %d", got, cached)
		}
		oneLaunchEach(t, s, e, cached)
	})
	t.Run("memory", func(t *testing.T) {
		room := unlessShort(1<<20, 1<<18)
		open := func(batch int) (*driver.Simulator, *Engine, error) {
			s := driver.NewSimulator(driver.SimulatedDevice{Memory: int64(room)})
			d, err := s.Driver()
			if err != nil {
				t.Fatal(err)
			}
			o := small()
			o.Batch, o.Slots = batch, 1
			e, err := Open(d, o)
			return s, e, err
		}
		// The first that does not fit is looked for, by halves.
		most := sort.Search(room/codec.PageSize, func(n int) bool {
			_, e, err := open(n + 1)
			if err == nil {
				err = e.Close()
			}
			if err != nil && !errors.Is(err, driver.OutOfMemory) {
				t.Errorf("%d pages: %v", n+1, err)
			}
			return err != nil
		})
		if most < room/codec.PageSize/4 || most == room/codec.PageSize {
			t.Fatalf("%d pages fit %d bytes, with room for what comes back", most, room)
		}
		s, e, err := open(most)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d pages fit %d bytes", most, room)
		oneLaunchEach(t, s, e, most)
	})
}

// oneLaunchEach has n pages done, which must take a launch each way for each format, and closes the
// engine.
func oneLaunchEach(t *testing.T, s *driver.Simulator, e *Engine, n int) {
	t.Helper()
	stop := s.Trace()
	thereAndBack(t, e, memory(n, uint64(n)))
	ran := map[string]int{}
	for _, did := range stop() {
		if did.Call == "cuLaunchKernel" {
			ran[did.Kernel]++
		}
	}
	if ran["lz4_compress"] != 1 || ran["lz4_decompress"] != 1 {
		t.Errorf("%d pages took launches %v", n, ran)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// F039: batches that fill no slot, no warp and no block, and one that takes several rounds.
func TestF039PartialBatches(t *testing.T) {
	o := small()
	o.Batch = unlessShort(64, 16)
	e := openEngine(t, simulated(1), o)
	for _, n := range []int{1, 2, 7, unlessShort(999, 20)} {
		thereAndBack(t, e, memory(n, 39))
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// F046: a warp a page, blocks of as many warps as the kernel has pages a block, and just as many
// blocks as the pages take.
func TestF046GridFitsTheBatch(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	sizes := []int{1, 3, 4, 5, 8, 63, 64}
	for _, n := range sizes[:unlessShort(len(sizes), 4)] {
		stop := s.Trace()
		for _, kind := range []string{"lz4", "page"} {
			one := objectsOf(t, kind, n)
			for _, op := range []bulk.Op{bulk.Decompress, bulk.Verify} {
				if _, err := e.Do(context.Background(), 0, piece(copyOf(one, op))); err != nil {
					t.Fatal(err)
				}
			}
		}
		b := bulk.NewBatch(bulk.Compress, n)
		b.Pages = memory(n, 46)
		if _, err := e.Do(context.Background(), 0, piece(b)); err != nil {
			t.Fatal(err)
		}
		launched := map[string]driver.Span{}
		for _, did := range stop() {
			launched[did.Kernel] = did
		}
		for _, k := range kernels.All() {
			did, blocks := launched[k.Name], (n+k.PagesPerBlock-1)/k.PagesPerBlock
			if did.Blocks != blocks || did.Threads != ptx.WarpSize*k.PagesPerBlock {
				t.Errorf("%s of %d pages: %d blocks of %d threads, want %d of %d", k.Name, n, did.Blocks, did.Threads, blocks, ptx.WarpSize*k.PagesPerBlock)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// objectsOf makes a batch of n objects of one algorithm, again and again the same few.
func objectsOf(t *testing.T, algorithm string, n int) *bulk.Batch {
	t.Helper()
	a, err := codec.Parse(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	b := bulk.NewBatch(bulk.Decompress, n)
	region, page := make([]byte, 2*codec.PageSize), bytes.Repeat([]byte("an object "), codec.PageSize)[:codec.PageSize]
	id, length, err := c.Compress(region[:codec.PageSize], page)
	if err != nil || id == codec.Raw {
		t.Fatalf("%s makes %s: %v", algorithm, id, err)
	}
	for i := range n {
		b.Length[i], b.ID[i] = uint32(length), id
	}
	b.Regions, b.Pages, b.Hash = [][]byte{region}, make([]byte, n*codec.PageSize), make([]uint64, n)
	return b
}

// every is all kernels that there are, those of the address cases included.
func every(t *testing.T) []*ptx.Kernel {
	t.Helper()
	var all []*ptx.Kernel
	add := func(k *ptx.Kernel, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
	}
	for _, k := range kernels.All() {
		add(k.Build())
	}
	for _, c := range kernels.AddressCases() {
		add(c.Build())
	}
	return all
}

// F050: a driver loads every kernel, and the text asks for no more than the oldest that we accept
// knows: CUDA 11.1 takes PTX up to 7.1, for devices from 7.0 on.
func TestF050EveryKernelLoads(t *testing.T) {
	d, err := simulated(1).Driver()
	if err != nil {
		t.Fatal(err)
	}
	loads(t, d)
	for _, k := range every(t) {
		if !strings.HasPrefix(k.PTX(), ".version 6.0\n.target sm_70\n") {
			t.Errorf("%s begins with %q", k.Name(), k.PTX()[:40])
		}
	}
}

// loads has a driver load all kernels, and closes it.
func loads(t *testing.T, d *driver.Driver) {
	t.Helper()
	c, err := d.Open(0, driver.Options{Limit: patience})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range every(t) {
		var info driver.KernelInfo
		err := c.Do(func(t *driver.Thread) (err error) {
			info, err = t.Load(k)
			return err
		})
		if err != nil || info.Registers <= 0 || info.Shared < k.SharedBytes() {
			t.Errorf("%s: %+v, %v", k.Name(), info, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// G.108: of a batch of 1,000 pages device and CPU get a part each. G.109: asked for by name it does
// all of them, in one piece. G.110: they come back equal.
func TestG108G109G110Thousand(t *testing.T) {
	n := unlessShort(1000, 200)
	o := small()
	o.Batch = n
	b := objectsOf(t, "lz4", n)
	want := bytes.Repeat(bytes.Repeat([]byte("an object "), codec.PageSize)[:codec.PageSize], n)
	p := newPlanner(t, bulk.EnginesAlone, openEngine(t, simulated(1), o))
	r := run(t, p, b)
	if by := r.Engines[1]; by.Items != n || by.Pieces != 1 || by.Batches != 1 || r.Engines[0].Items != 0 {
		t.Errorf("of %d pages: %+v", n, r.Engines)
	}
	if !bytes.Equal(b.Pages, want) {
		t.Error("the pages do not come back equal")
	}
	shared := newPlanner(t, bulk.Shared, openEngine(t, simulated(1), small()))
	b.Before = func([]uint32) { time.Sleep(time.Millisecond) } // or the CPU may be done before the device is awake
	for range 10 {                                             // fewer than those after which it is tried in any case
		if r := run(t, shared, copyOf(b, bulk.Decompress)); r.Share("gpu0") > 0 {
			return
		}
	}
	t.Error("the device got nothing of 10 batches")
}
