// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// batches is how many batches the test of the pool does, in place of the claim's million.
var batches = flag.Int("batches", 1_000_000, "small batches for TestF040")

// paper is memory that is only counted.
type paper struct {
	next  uint64
	held  int64
	calls int
	sizes map[uint64]int
}

func paperPool(least int) (*paper, *pool[uint64]) {
	m := &paper{next: 1 << 20, sizes: map[uint64]int{}}
	alloc := func(n int) (uint64, error) {
		m.calls++
		at := m.next
		m.next += uint64(n)
		m.held += int64(n)
		m.sizes[at] = n
		return at, nil
	}
	free := func(at uint64) error {
		m.calls++
		m.held -= int64(m.sizes[at])
		delete(m.sizes, at)
		return nil
	}
	return m, newPool("paper", least, alloc, free)
}

// given is a range that a test has.
type given struct {
	span *span
	at   uint64
	size int
}

// H8: a hundred operations on the pool make fewer than ten calls of CUDA; without the pool each
// makes one, and what is left at the end one more.
func TestH8PoolMakesFewCalls(t *testing.T) {
	m, p := paperPool(0)
	random := rand.New(rand.NewPCG(8, 1))
	var live []given
	for range 100 {
		live = operate(t, p, random, live)
	}
	pooled, bare := m.calls, 100+len(live)
	if pooled >= 10 || bare <= 100 {
		t.Errorf("%d calls for 100 operations, without the pool %d", pooled, bare)
	}
	t.Logf("%d calls for 100 operations of 1 KB to 10 MB, without the pool %d", pooled, bare)
}

// operate allocates, seven times of ten, or frees any.
func operate(t *testing.T, p *pool[uint64], random *rand.Rand, live []given) []given {
	t.Helper()
	if len(live) == 0 || random.IntN(10) < 7 {
		n := 1<<10 + random.IntN(10<<20-1<<10+1)
		s, base, err := p.get(n)
		if err != nil {
			t.Fatal(err)
		}
		return append(live, given{s, base + uint64(s.off), n})
	}
	i := random.IntN(len(live))
	p.put(live[i].span)
	return slices.Delete(live, i, i+1)
}

// H12: after 10,000 rounds no more than a tenth is held beyond what is needed; before, no more than
// a tenth beyond what was needed at most so far, from when a slab is little compared with that. No
// two ranges overlap.
func TestH12PoolWastesLittle(t *testing.T) {
	for seed := range uint64(5) {
		m, p := paperPool(0)
		random := rand.New(rand.NewPCG(12, seed))
		var live []given
		var needed, most int64
		worst := 0.0
		for range 10_000 {
			live = operate(t, p, random, live)
			needed = 0
			for _, g := range live {
				needed += int64(g.size)
			}
			if most = max(most, needed); most > 4<<30 {
				worst = max(worst, float64(m.held)/float64(most))
			}
		}
		final := float64(m.held) / float64(needed)
		t.Logf("seed %d: %d ranges, %d MB needed, %d MB held: %.3f, at worst %.3f beyond 4 GiB; %d calls", seed, len(live), needed>>20, m.held>>20, final, worst, m.calls)
		if final > 1.1 || worst > 1.1 || worst == 0 {
			t.Errorf("%.3f times what is needed is held, at worst %.3f", final, worst)
		}
		apart(t, live)
		for _, g := range live {
			p.put(g.span)
		}
		if err := p.Close(); err != nil || m.held != 0 {
			t.Errorf("%d bytes are held after the close: %v", m.held, err)
		}
	}
}

func apart(t *testing.T, live []given) {
	t.Helper()
	slices.SortFunc(live, func(a, b given) int { return int(int64(a.at) - int64(b.at)) })
	for i := 1; i < len(live); i++ {
		if live[i-1].at+uint64(live[i-1].size) > live[i].at {
			t.Fatalf("ranges overlap at %#x", live[i].at)
		}
	}
}

// After each step the ranges of each slab cover it, no two free ones touch, and the list of free
// ones has them all.
func TestRangesStayWhole(t *testing.T) {
	_, p := paperPool(64 << 10)
	random := rand.New(rand.NewPCG(3, 3))
	var live []*span
	for range 20_000 {
		if len(live) == 0 || random.IntN(2) == 0 {
			s, _, err := p.get(1 + random.IntN(8<<10))
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, s)
		} else {
			i := random.IntN(len(live))
			p.put(live[i])
			live = slices.Delete(live, i, i+1)
		}
		if random.IntN(1000) == 0 {
			if err := p.Trim(); err != nil {
				t.Fatal(err)
			}
		}
		whole(t, &p.ranges)
	}
}

func whole(t *testing.T, r *ranges) {
	t.Helper()
	free, used := 0, int64(0)
	for _, s := range r.slabs {
		at, before := 0, (*span)(nil)
		for x := s.first; x != nil; x = x.behind {
			if x.off != at || x.slab != s || x.before != before || before != nil && before.free && x.free {
				t.Fatalf("slab %d is broken at %d", s.number, at)
			}
			if at, before = at+x.size, x; x.free {
				free++
			} else {
				used += int64(x.size)
			}
		}
		if at != s.size {
			t.Fatalf("slab %d of %d bytes ends at %d", s.number, s.size, at)
		}
	}
	if free != len(r.free) || used != r.used || !slices.IsSortedFunc(r.free, compareSpans) {
		t.Fatalf("%d free ranges are listed as %d, %d bytes used as %d", free, len(r.free), used, r.used)
	}
}

// ring is how many small batches are under way at a time.
const ring = 16

type smallBatch struct {
	device Pointer
	host   Host
}

func newSmallBatch(t *testing.T, device *DevicePool, host *HostPool, size int) (b smallBatch) {
	t.Helper()
	var err error
	if b.device, err = device.Get(size); err != nil {
		t.Fatal(err)
	}
	if b.host, err = host.Get(size); err != nil {
		t.Fatal(err)
	}
	return b
}

// queue sends the batch through the device, and through a kernel if there is one.
func (b smallBatch) queue(t *Thread, s Stream, k *ptx.Kernel) error {
	err := t.CopyIn(s, b.device, b.host)
	if n := len(b.host.Bytes()) / 4; k != nil {
		err = errors.Join(err, t.Launch(s, k, 1, uint64(b.device), uint64(n)))
	}
	return errors.Join(err, t.CopyOut(s, b.host, b.device))
}

// F040: after a million small batches, from pools, not a byte is lost.
func TestF040NothingIsLost(t *testing.T) {
	n := *batches
	if testing.Short() {
		n = 20_000
	}
	s, c := open(t, SimulatedDevice{Memory: 8 << 20, Workers: 1}, Options{})
	device, host := NewDevicePool(c, 1<<20), NewHostPool(c, 1<<20)
	k := increment(t)
	var stream Stream
	var done Event
	do(t, c, func(t *Thread) (err error) {
		if stream, err = t.NewStream(); err != nil {
			return err
		}
		done, err = t.NewEvent()
		return err
	})
	random := rand.New(rand.NewPCG(40, 40))
	for from := 0; from < n; from += ring {
		small := make([]smallBatch, min(ring, n-from))
		for i := range small {
			small[i] = newSmallBatch(t, device, host, 4*(1+random.IntN(32)))
			number(small[i].host.Bytes(), from+i)
		}
		do(t, c, func(t *Thread) error {
			errs := []error{small[0].queue(t, stream, k)}
			for _, b := range small[1:] {
				errs = append(errs, b.queue(t, stream, nil))
			}
			return errors.Join(append(errs, t.Record(done, stream))...)
		})
		if err := c.Wait(done); err != nil {
			t.Fatal(err)
		}
		for i, b := range small {
			if i == 0 {
				i++ // what the kernel added
			}
			if err := errors.Join(numbered(b.host.Bytes(), from+i), device.Put(b.device), host.Put(b.host)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d, h := device.Stats(), host.Stats(); d.Used != 0 || h.Used != 0 || d.Calls != 1 || h.Calls != 1 || d.Gets != int64(n) {
		t.Errorf("pools have %+v and %+v", d, h)
	}
	if calls := s.Calls(); calls["cuMemAlloc"] != 1 || calls["cuMemHostAlloc"] != 1 {
		t.Errorf("a pool says that it made one call, and made %d and %d", calls["cuMemAlloc"], calls["cuMemHostAlloc"])
	}
	if err := errors.Join(device.Close(), host.Close()); err != nil {
		t.Error(err)
	}
	do(t, c, func(th *Thread) error {
		free, total, err := th.MemoryInfo()
		if free != total {
			t.Errorf("%d bytes of %d are free", free, total)
		}
		return errors.Join(err, th.CloseEvent(done), th.CloseStream(stream))
	})
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// F045: a device that is full is an error, from which the pool recovers what it can.
func TestF045OutOfMemory(t *testing.T) {
	_, c := open(t, SimulatedDevice{Memory: 4 << 20}, Options{})
	p := NewDevicePool(c, 3<<20)
	a, err := p.Get(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	// A slab of 3 MiB does not fit with the other, one of 512 KiB does.
	b, err := p.Get(2<<20 + 1<<19)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Get(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(1 << 20); !errors.Is(err, OutOfMemory) {
		t.Errorf("a full device answers %v", err)
	}
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); !errors.Is(err, ErrArgument) {
		t.Errorf("close with ranges in use: %v", err)
	}
	if _, err := p.Get(1); !errors.Is(err, ErrClosed) {
		t.Errorf("get after close: %v", err)
	}
	if err := errors.Join(p.Put(a), p.Put(b), p.Put(d), p.Trim()); err != nil {
		t.Error(err)
	}
	if err := p.Put(a); !errors.Is(err, ErrArgument) {
		t.Errorf("put twice: %v", err)
	}
	if held := p.Stats().Held; held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// Unused slabs are given back when a larger one is wanted and they leave no room.
func TestPoolGivesUnusedSlabsBack(t *testing.T) {
	_, c := open(t, SimulatedDevice{Memory: 4 << 20}, Options{})
	p := NewDevicePool(c, 1<<20)
	for _, size := range []int{1 << 20, 2 << 20, 4 << 20, 1 << 10} {
		at, err := p.Get(size)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if err := p.Put(at); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	h := NewHostPool(c, 0)
	if err := h.Put(Host{}); !errors.Is(err, ErrArgument) {
		t.Errorf("put of nothing: %v", err)
	}
	if err := h.Put(Host{bytes: make([]byte, 1)}); !errors.Is(err, ErrArgument) {
		t.Errorf("put of what is not the pool's: %v", err)
	}
	if _, err := h.Get(0); !errors.Is(err, ErrArgument) {
		t.Errorf("get of nothing: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
