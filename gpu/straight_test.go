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

	"zramfs/codec"
	"zramfs/codec/bulk"
	"zramfs/gpu/driver"
	"zramfs/internal/pages"
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

// copies counts those of a slot's last round, and their bytes, that nobody had to copy to or from.
func copies(moves []move) (straight, bytes int) {
	for _, m := range moves {
		if m.straight {
			straight++
			bytes += len(m.host.Bytes())
		}
	}
	return straight, bytes
}

// Wherever pages go, and whatever is damaged, they come straight there as they come through the slot.
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

// checkUntouched looks at the pages that no item has, of memory of which page 5 is the batch's first.
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

// What the device writes to a page whose object it cannot read does not count: the item is left.
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

// Objects that lie close together are copied with one call, from any part of a region: here the first half, and the other one far from it.
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
		if (path == Straight) != (straight == 2 && bytes >= 2*leastStraight && bytes < n*codec.PageSize) {
			t.Errorf("%s: %d copies of %d bytes are straight", path, straight, bytes)
		}
		done := 0
		for i := range n {
			if got.Verdict[i] != bulk.Done {
				continue
			}
			if done++; got.Hash[i] != want.Hash[i] {
				t.Errorf("%s: page %d differs", path, i)
			}
		}
		if done < n/2 {
			t.Errorf("%s: %d of %d pages are done", path, done, n)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Which objects are copied straight depends on how they lie.
func TestSpans(t *testing.T) {
	const each = 2000
	e := openEngine(t, simulated(1), direct())
	defer e.Close()
	region, other, unknown := aligned(68*codec.PageSize), aligned(68*codec.PageSize+quadBytes), aligned(68*codec.PageSize)
	register(t, e, region, false)
	register(t, e, other, false)
	place := func(at func(i int) (region, offset int)) *bulk.Batch {
		b := bulk.NewBatch(bulk.Decompress, 60)
		b.Regions = [][]byte{region, other, unknown}
		for i := range b.N {
			r, offset := at(i)
			b.Region[i], b.Offset[i], b.Length[i], b.ID[i] = uint16(r), uint64(offset), each, codec.LZ4
		}
		return b
	}
	for name, c := range map[string]struct {
		at    func(i int) (region, offset int)
		spans int
		bytes int // gathered
	}{
		"one after the other":  {func(i int) (int, int) { return 0, i * each }, 1, 0},
		"with small gaps":      {func(i int) (int, int) { return 0, i * (each + 300) }, 1, 0},
		"in any order":         {func(i int) (int, int) { return 0, i * 7 % 60 * each }, 1, 0},
		"far apart":            {func(i int) (int, int) { return 0, i * 2 * each }, 0, 60 * each},
		"the same":             {func(int) (int, int) { return 0, 77 }, 1, 0},
		"at the end":           {func(i int) (int, int) { return 1, len(other) - (i+1)*each }, 1, 0},
		"in two regions":       {func(i int) (int, int) { return i / 30, i * each }, 2, 0},
		"by turns in two":      {func(i int) (int, int) { return i % 2, i * each }, 0, 60 * each},
		"half of them unknown": {func(i int) (int, int) { return i / 30 * 2, i * each }, 1, 30 * each},
		"few after a jump":     {func(i int) (int, int) { return 0, i*each + i/50*100_000 }, 1, 10 * each},
	} {
		b, s := place(c.at), e.slots[0]
		s.know(b)
		_, bytes := s.choose(piece(b), codec.LZ4, piece(b).Items)
		if bytes != 60*each || len(s.items) != 60 {
			t.Fatalf("%s: %d items of %d bytes are chosen", name, len(s.items), bytes)
		}
		if gathered := s.findSpans(piece(b), bytes); len(s.spans) != c.spans || gathered != c.bytes {
			t.Errorf("%s: %d spans, %d bytes are gathered, want %d and %d", name, len(s.spans), gathered, c.spans, c.bytes)
		}
		checkSpans(t, name, s)
	}
	// Spans that the buffer has no room for, with what is between the objects, are none.
	b, s := place(func(i int) (int, int) { return 1, i * 4400 }), e.slots[0]
	for i := range b.N {
		b.Length[i] = 3700
	}
	s.know(b)
	_, bytes := s.choose(piece(b), codec.LZ4, piece(b).Items)
	if gathered := s.findSpans(piece(b), bytes); gathered != bytes || len(s.spans) > 0 || len(s.items) != b.N {
		t.Errorf("%d spans where there is no room, %d bytes of %d are gathered", len(s.spans), gathered, bytes)
	}
}

func checkSpans(t *testing.T, name string, s *slot) {
	t.Helper()
	for _, a := range s.spans {
		if a.from%sectorBytes != 0 || a.at%sectorBytes != 0 || a.to > len(a.host.Bytes()) || a.at+a.to-a.from > len(s.in.Bytes()) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// Pages that are neighbours in registered memory are compressed from there, the others through the slot, to the same objects.
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

// Whatever call fails with memory that the device knows, the batches come out the same.
func TestEachCallFailsOnceStraight(t *testing.T) {
	b := objectsBy(t, text(26), false, "lz4")
	cpu, want := newPlanner(t, bulk.CPUAlone), copyOf(b, bulk.Decompress)
	run(t, cpu, want)
	there := aligned(len(b.Pages))
	o := Options{Batch: 24, Slots: 2, Path: Straight, Compress: true}
	eachCallFails(t, o, func(t *testing.T, p *bulk.Planner) {
		// What cannot be registered the engine goes without.
		_, _ = p.Register(b.Regions[0], false), p.Register(there, true)
		got := copyOf(b, bulk.Decompress)
		got.Pages = there
		fill(there, 0)
		run(t, p, got)
		same(t, got, want)
		made := bulk.NewBatch(bulk.Compress, got.N)
		made.Pages, made.Hash = there, make([]uint64, got.N)
		run(t, p, made)
		back := copyOf(made, bulk.Decompress)
		run(t, cpu, back)
		same(t, back, made)
		_, _ = p.Unregister(b.Regions[0]), p.Unregister(there)
	})
}

// silent runs a batch on a device that does not answer, and returns how it ended.
func silent(t *testing.T, known bool) (*bulk.Batch, bulk.Report, error) {
	t.Helper()
	s := simulated(1)
	o := direct()
	o.Driver.Limit = time.Second // for opening on a machine that is busy, too
	e := openEngine(t, s, o)
	t.Cleanup(s.Hold(0))
	p := newPlanner(t, bulk.EnginesAlone, e)
	b := objectsBy(t, text(60), false, "lz4")
	b.Pages = aligned(len(b.Pages))
	if known {
		register(t, p, b.Pages, true)
	}
	var r bulk.Report
	err := p.Run(context.Background(), b, &r)
	if unregisterErr := p.Unregister(b.Pages); unregisterErr != nil {
		t.Error(unregisterErr)
	}
	return b, r, err
}

// A device that falls silent and may yet write to the batch's pages ends the batch; one that writes to memory of its own does not.
func TestSilentDeviceTearsPages(t *testing.T) {
	b, r, err := silent(t, true)
	if !errors.Is(err, bulk.ErrTorn) || !errors.Is(err, bulk.ErrDead) || !errors.Is(err, driver.ErrTimeout) {
		t.Errorf("the batch ends with %v", err)
	}
	pending := 0
	for _, v := range b.Verdict {
		if v == bulk.Pending {
			pending++
		}
	}
	if !r.Engines[1].Dead || pending == 0 {
		t.Errorf("%d items are pending: %+v", pending, r)
	}
	b, r, err = silent(t, false)
	if err != nil || !r.Engines[1].Dead || slices.Contains(b.Verdict, bulk.Pending) {
		t.Errorf("%v: %+v", err, r)
	}
}

// After an error that sticks, or when nobody can tell any more what is under way, the device is stopped before anybody does its pages again; and if it cannot be,
// because something else uses it, nobody does.
func TestDeviceIsStoppedBeforePagesAreDoneAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func(*driver.Simulator)
		shared bool
	}{
		"sticky": {func(s *driver.Simulator) { s.Fail("run kernel", 3, driver.IllegalAddress) }, false},
		"shared": {func(s *driver.Simulator) { s.Fail("run kernel", 3, driver.IllegalAddress) }, true},
		"unclear": {func(s *driver.Simulator) {
			for n := range 6 { // one for each lane, and more for when it makes sure
				s.Fail("cuEventSynchronize", n+1, driver.Unknown)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulated(1)
			d, err := s.Driver()
			if err != nil {
				t.Fatal(err)
			}
			e, err := Open(d, direct())
			if err != nil {
				t.Fatal(err)
			}
			if c.shared {
				other, err := d.Open(0, driver.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
			}
			checkStopped(t, e, func() { c.fail(s) }, c.shared)
		})
	}
}

// checkStopped runs a batch during which the device is to be stopped.
func checkStopped(t *testing.T, e *Engine, fail func(), shared bool) {
	t.Helper()
	p := newPlanner(t, bulk.EnginesAlone, e)
	b := objectsBy(t, text(200), false, "lz4")
	b.Pages = aligned(len(b.Pages))
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	register(t, p, b.Pages, true)
	fail()
	var r bulk.Report
	err := p.Run(context.Background(), b, &r)
	if !r.Engines[1].Dead {
		t.Errorf("the engine is not dead: %+v", r)
	}
	if shared {
		if !errors.Is(err, bulk.ErrTorn) || !errors.Is(err, driver.ErrBusy) {
			t.Errorf("beside another context the batch ends with %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	same(t, b, want)
	if _, err := e.Do(context.Background(), 0, piece(b)); !errors.Is(err, bulk.ErrDead) {
		t.Errorf("afterwards do answers %v", err)
	}
	if err := p.Unregister(b.Pages); err != nil {
		t.Error(err)
	}
}

func TestRegisterRefusesWhatIsUnfit(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, direct())
	all := aligned(8 * codec.PageSize)
	part := func(from, to int) []byte { return all[from*codec.PageSize : to*codec.PageSize] }
	register(t, e, part(3, 5), true)
	for name, bad := range map[string][]byte{
		"nothing": nil, "misplaced": all[16:codec.PageSize], "of an odd size": all[:17], "the same": part(3, 5), "its beginning": part(3, 4),
		"its end": part(4, 5), "more": part(2, 6), "up to within": part(0, 4), "from within": part(4, 8),
	} {
		if err := e.Register(bad, false); !errors.Is(err, driver.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	register(t, e, part(5, 8), false)
	register(t, e, part(0, 3), false)
	for name, bad := range map[string][]byte{"nothing": nil, "a part": part(3, 4), "two": part(0, 5), "unknown": aligned(codec.PageSize)} {
		if err := e.Unregister(bad); !errors.Is(err, driver.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Fail("cuMemHostRegister", 1, driver.OutOfMemory)
	if err := errors.Join(e.Unregister(part(3, 5)), e.Unregister(part(0, 3))); err != nil {
		t.Error(err)
	}
	if err := e.Register(part(0, 2), false); !errors.Is(err, driver.OutOfMemory) {
		t.Errorf("too little memory: %v", err)
	}
	register(t, e, part(0, 5), true)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Memory that a piece under way has to do with cannot be unregistered.
func TestUnregisterInUse(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, direct())
	b := objects(t, memory(40, 15), false)
	register(t, e, b.Regions[0], false)
	release := s.Hold(0)
	answer := make(chan error, 1)
	go func() {
		_, err := e.Do(context.Background(), 0, piece(b))
		answer <- err
	}()
	for s.Calls()["cuMemcpyHtoDAsync"] < 2 { // the table's was the first
		time.Sleep(time.Millisecond)
	}
	if err := e.Unregister(b.Regions[0]); !errors.Is(err, driver.ErrArgument) {
		t.Errorf("unregister answers %v", err)
	}
	release()
	if err := <-answer; err != nil {
		t.Error(err)
	}
	if err := errors.Join(e.Unregister(b.Regions[0]), e.Close()); err != nil {
		t.Error(err)
	}
}
