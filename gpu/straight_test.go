// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/internal/pages"
)

// direct are options with which objects are copied straight from registered memory.
func direct() Options {
	o := small()
	o.Path = Straight
	return o
}

// register tells an engine of memory until the test ends, or the engine.
func register(tb testing.TB, e bulk.Registrar, region []byte, write bool) {
	tb.Helper()
	if err := e.Register(region, write); err != nil {
		tb.Fatal(err)
	}
}

// text is n pages that compress, so that all are for the device.
func text(n int) []byte { return bytes.Join(pages.Generate(pages.Text, n, uint64(n)), nil) }

// slots are places for n pages among twice as many.
func slots(n int) map[string][]uint32 {
	all := map[string][]uint32{"in order": nil, "with holes": nil, "backwards": nil, "at random": nil}
	for i := range n {
		all["in order"] = append(all["in order"], uint32(i+3))
		all["with holes"] = append(all["with holes"], uint32(i+i/21))
		all["backwards"] = append(all["backwards"], uint32(n-i))
	}
	for _, at := range rand.New(rand.NewPCG(5, 5)).Perm(2 * n)[:n] {
		all["at random"] = append(all["at random"], uint32(at))
	}
	return all
}

// copies counts the copies of a slot's last round, and the bytes that moved straight.
func copies(moves []move) (straight, bytes int) {
	for _, m := range moves {
		if m.straight {
			straight++
			bytes += len(m.host.Bytes())
		}
	}
	return straight, bytes
}

// Wherever pages go, and whatever is damaged, they come straight there as they come through the
// slot.
func TestPagesComeStraightToTheBatch(t *testing.T) {
	n := large()
	b := objectsBy(t, text(n), true, "page")
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	for name, slot := range slots(n) {
		e := openEngine(t, simulated(1), direct())
		p := newPlanner(t, bulk.EnginesAlone, e)
		around := aligned((2*n + 20) * codec.PageSize)
		register(t, p, b.Regions[0], false)
		register(t, p, around, true)
		got := copyOf(b, bulk.Decompress)
		got.Pages, got.Slot = around[5*codec.PageSize:], slot
		fill(around, 0xee)
		run(t, p, got)
		same(t, got, want)
		if st := e.Stats(bulk.Decompress); (st.Straight > (st.In+st.Out)/2) != (name == "in order" || name == "with holes") {
			t.Errorf("%s: %d bytes of %d there and %d back went straight", name, st.Straight, st.In, st.Out)
		}
		verify := copyOf(b, bulk.Verify)
		run(t, p, verify)
		same(t, verify, want)
		checkUntouched(t, name, around, slot)
		if err := errors.Join(p.Unregister(around), p.Unregister(b.Regions[0])); err != nil {
			t.Error(err)
		}
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// checkUntouched checks the pages without items, in memory whose page 5 is the batch's first.
func checkUntouched(t *testing.T, name string, around []byte, slot []uint32) {
	t.Helper()
	for at := range len(around) / codec.PageSize {
		if at >= 5 && slices.Contains(slot, uint32(at-5)) {
			continue
		}
		if page := around[at*codec.PageSize:][:codec.PageSize]; bytes.Count(page, []byte{0xee}) != codec.PageSize {
			t.Fatalf("%s: page %d, which is no item's, was written to", name, at-5)
		}
	}
}

// A page whose object the device cannot read does not count, whatever the device has written to it:
// the item is left.
func TestDamagedPagesAreLeft(t *testing.T) {
	b := objectsBy(t, text(60), true, "lz4")
	e := openEngine(t, simulated(1), direct())
	defer e.Close()
	b.Pages = aligned(len(b.Pages))
	register(t, e, b.Pages, true)
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	if _, err := e.Do(context.Background(), 0, piece(b)); err != nil {
		t.Fatal(err)
	}
	left := 0
	for i := range b.N {
		switch {
		case want.Verdict[i] != bulk.Done:
			left++
			if b.Verdict[i] != bulk.Pending {
				t.Errorf("item %d is damaged, but %s", i, b.Verdict[i])
			}
		case b.Verdict[i] == bulk.Done && !bytes.Equal(b.Page(i), want.Page(i)):
			t.Errorf("page %d differs", i)
		}
	}
	if straight, _ := copies(e.slots[0].outs); left == 0 || straight == 0 {
		t.Errorf("%d items left, %d copies straight", left, straight)
	}
}

// Memory that was registered for reading alone is not written to by the device.
func TestPagesDoNotComeToWhatIsOnlyRead(t *testing.T) {
	b := objectsBy(t, text(60), false, "lz4")
	e := openEngine(t, simulated(1), direct())
	defer e.Close()
	b.Pages = aligned(len(b.Pages))
	register(t, e, b.Pages, false)
	if _, err := e.Do(context.Background(), 0, piece(b)); err != nil {
		t.Fatal(err)
	}
	if straight, _ := copies(e.slots[0].outs); straight > 0 || b.Verdict[0] != bulk.Done {
		t.Errorf("%d copies straight, the first page is %s", straight, b.Verdict[0])
	}
}

// Objects that lie close together are copied with one call, from any part of a region: here the
// first half, and the other one far from it.
func TestObjectsAreCopiedStraight(t *testing.T) {
	n := 60
	plain := objectsBy(t, text(n), false, "page")
	size := len(plain.Regions[0])
	region := aligned((2*size + 3*codec.PageSize) &^ (quadBytes - 1))
	copy(region[2*codec.PageSize+100:], plain.Regions[0])
	copy(region[2*codec.PageSize+100+size:], plain.Regions[0])
	b := copyOf(plain, bulk.Decompress)
	b.Regions = [][]byte{nil, region[2*codec.PageSize+100:]}
	for i := n / 2; i < n; i++ {
		b.Offset[i] += uint64(size)
	}
	b.Region = slices.Repeat([]uint16{1}, n)
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	for _, path := range []Path{Copied, InPlace, Straight} {
		o := small()
		o.Path = path
		e := openEngine(t, simulated(1), o)
		register(t, e, region, false)
		got := copyOf(b, bulk.Decompress)
		if _, err := e.Do(context.Background(), 0, piece(got)); err != nil {
			t.Fatal(err)
		}
		straight, bytes := copies(e.slots[0].ins)
		if (path == Straight) != (straight == 2 && bytes >= 2*minStraight && bytes < n*codec.PageSize) {
			t.Errorf("%s: %d copies of %d bytes are straight", path, straight, bytes)
		}
		checkHashes(t, got, want)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkHashes looks at what an engine has done alone, which must be half of it at least.
func checkHashes(t *testing.T, got, want *bulk.Batch) {
	t.Helper()
	done := 0
	for i := range got.N {
		if got.Verdict[i] != bulk.Done {
			continue
		}
		if done++; got.Hash[i] != want.Hash[i] {
			t.Errorf("page %d differs", i)
		}
	}
	if done < got.N/2 {
		t.Errorf("%d of %d pages are done", done, got.N)
	}
}

// Pages that are neighbours in registered memory are compressed from there, the others through the
// slot, to the same objects.
func TestPagesAreCompressedFromWhereTheyLie(t *testing.T) {
	n := large()
	all := memory(n, 11)
	cpu := newPlanner(t, bulk.CPUAlone)
	var want *bulk.Batch
	for _, known := range []bool{false, true} {
		for name, slot := range slots(n) {
			e := openEngine(t, simulated(1), direct())
			p := newPlanner(t, bulk.EnginesAlone, e)
			b := bulk.NewBatch(bulk.Compress, n)
			b.Pages, b.Slot, b.Hash = aligned((2*n+4)*codec.PageSize), slot, make([]uint64, n)
			for i := range n {
				copy(b.Page(i), all[i*codec.PageSize:])
			}
			if known {
				register(t, p, b.Pages, false)
			}
			run(t, p, b)
			st := e.Stats(bulk.Compress)
			if (st.Straight > st.In/2) != (known && (name == "in order" || name == "with holes")) {
				t.Errorf("%s, known %v: %d bytes of %d went straight", name, known, st.Straight, st.In)
			}
			if want == nil {
				want = b
			}
			checkObjects(t, b, want)
			back := copyOf(b, bulk.Decompress)
			run(t, cpu, back)
			same(t, back, b)
		}
	}
}

// checkObjects wants the same objects in both, wherever they lie.
func checkObjects(t *testing.T, got, want *bulk.Batch) {
	t.Helper()
	for i := range want.N {
		a, _ := got.Object(i)
		b, _ := want.Object(i)
		if got.ID[i] != want.ID[i] || !bytes.Equal(a, b) {
			t.Fatalf("object %d differs", i)
		}
	}
}

// The measurement at open decides: where copying takes long, objects are read in place.
func TestFasterPathIsTaken(t *testing.T) {
	var path Path
	for range 3 { // the machine may have something else to do
		s := driver.NewSimulator(driver.SimulatedDevice{Link: 1 << 18})
		o := Options{Batch: 24, Slots: 1, Driver: driver.Options{Limit: patience}}
		e := openEngine(t, s, o)
		path = e.Path()
		if there := s.Calls()["cuMemcpyHtoDAsync"]; there != 1+4+(1+measuredRounds)*(1+1+2) { // the table; what is trusted; copied, in place, straight
			t.Errorf("measuring takes %d copies to the device", there)
		}
		if err := errors.Join(e.SetPath(Measured), e.SetPath(Straight+1)); !errors.Is(err, driver.ErrArgument) {
			t.Errorf("paths that there are not: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if path == InPlace {
			return
		}
	}
	t.Errorf("the path is %s", path)
}

// However fast, a path on which the device cannot read what the CPU made is none.
func TestPathThatReadsNothingIsNotTaken(t *testing.T) {
	e := openEngine(t, simulated(1), direct())
	defer e.Close()
	h, err := e.host.Get(8 * codec.PageSize)
	if err != nil {
		t.Fatal(err)
	}
	b, want, err := measuredBatch(h, 8, codec.LZ4, new(lz4.Encoder))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.compare(b, want); err != nil || e.Path() == Measured {
		t.Errorf("%s, %v", e.Path(), err)
	}
	b.Length[7]--
	if err := e.compare(b, want); !errors.Is(err, errResult) {
		t.Errorf("of a damaged object it says %v", err)
	}
	if err := e.host.Put(h); err != nil {
		t.Error(err)
	}
}
