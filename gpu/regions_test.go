// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// eachObject is how many bytes the objects of spread have.
const eachObject = 2000

// spread registers two regions, the second with its end within a sector, and makes batches of 60
// objects in them, or in a third, unregistered one.
func spread(t *testing.T, e *Engine) (end int, place func(at func(i int) (region, offset int)) *bulk.Batch) {
	t.Helper()
	all := [][]byte{aligned(68 * codec.PageSize), aligned(68*codec.PageSize + quadBytes), aligned(68 * codec.PageSize)}
	register(t, e, all[0], false)
	register(t, e, all[1], false)
	return len(all[1]), func(at func(i int) (region, offset int)) *bulk.Batch {
		b := bulk.NewBatch(bulk.Decompress, 60)
		b.Regions = all
		for i := range b.N {
			r, offset := at(i)
			b.Region[i], b.Offset[i], b.Length[i], b.ID[i] = uint16(r), uint64(offset), eachObject, codec.LZ4
		}
		return b
	}
}

// Which objects are copied straight depends on how they lie.
func TestSpans(t *testing.T) {
	const each = eachObject
	e := openEngine(t, simulated(1), direct())
	defer e.Close()
	end, place := spread(t, e)
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
		"at the end":           {func(i int) (int, int) { return 1, end - (i+1)*each }, 1, 0},
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
}

// Spans that the buffer has no room for, with what is between the objects, are none.
func TestSpansNeedRoom(t *testing.T) {
	e := openEngine(t, simulated(1), direct())
	defer e.Close()
	_, place := spread(t, e)
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
