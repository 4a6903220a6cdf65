// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/require"
)

// F064: one core decompresses objects that lie in its own node's memory, to pages that lie there,
// faster than if both are another node's.
func TestF064NearMemoryIsFaster(t *testing.T) {
	nodes := require.NUMA(t)
	near, far := nearAndFar(t, nodes[0][0], nodes[1][0], benchItems, 10)
	t.Logf("near %.0f MB/s, far %.0f MB/s: %.2f of it", near/1e6, far/1e6, far/near)
	if near <= far {
		t.Errorf("FALSIFIED: %.0f MB/s from the core's own node, %.0f MB/s from another", near/1e6, far/1e6)
	}
}

// Where there is one node, what measures nodes is tried on it: it comes to its end, and neither is
// faster by much.
func TestNearAndFarOnOneNode(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	first := 0
	for !allowed.IsSet(first) {
		first++
	}
	near, far := nearAndFar(t, first, first, 500, 20)
	if near <= 0 || far/near < 0.2 || far/near > 5 {
		t.Errorf("near %.0f B/s, far %.0f B/s", near, far)
	}
}

// nearAndFar is how many bytes of pages a second a core decompresses, from and to memory that it
// touched first and memory that another core did, which is where the kernel puts memory. The best
// of some rounds counts.
func nearAndFar(t *testing.T, core, other, n, rounds int) (near, far float64) {
	t.Helper()
	model := mixed(t, repeatedPages(n), "lz4")
	there, err := onCore(other, func() (*Batch, error) { return touched(model) })
	if err != nil {
		t.Fatal(err)
	}
	cpu := newCPU(t, "lz4", 1)
	speeds, err := onCore(core, func() (best [2]float64, err error) {
		here, err := touched(model)
		if err != nil {
			return best, err
		}
		p := Piece{Batch: here}
		for i := range n {
			p.Items = append(p.Items, uint32(i))
		}
		for range rounds {
			for i, b := range []*Batch{here, there} {
				clear(b.Verdict)
				p.Batch = b
				start := time.Now()
				if _, err := cpu.Do(t.Context(), 0, p); err != nil {
					return best, err
				}
				best[i] = max(best[i], float64(n)*codec.PageSize/time.Since(start).Seconds())
			}
		}
		return best, errors.Join(unmap(here), unmap(there))
	})
	if err := errors.Join(err, cpu.Close()); err != nil {
		t.Fatal(err)
	}
	return speeds[0], speeds[1]
}

// repeatedPages is n pages, of which no more than there are generated ones are different.
func repeatedPages(n int) []byte {
	all := generated()
	return bytes.Repeat(all, n*codec.PageSize/len(all)+1)[:n*codec.PageSize]
}

// touched is a copy of a batch whose objects and pages lie in memory of their own, that nobody
// touched before.
func touched(model *Batch) (*Batch, error) {
	b := *model
	b.Verdict = make([]Verdict, b.N)
	b.Regions = nil
	for _, r := range append([][]byte{model.Pages}, model.Regions...) {
		memory, err := unix.Mmap(-1, 0, len(r), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return nil, err // which ends the test, and the process its mappings
		}
		copy(memory, r)
		b.Regions = append(b.Regions, memory)
	}
	b.Pages, b.Regions = b.Regions[0], b.Regions[1:]
	return &b, nil
}

func unmap(b *Batch) error {
	var errs []error
	for _, memory := range append([][]byte{b.Pages}, b.Regions...) {
		errs = append(errs, unix.Munmap(memory))
	}
	return errors.Join(errs...)
}

// onCore runs f on a core, in a thread that ends with it.
func onCore[T any](core int, f func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		runtime.LockOSThread()
		var only unix.CPUSet
		only.Set(core)
		var a answer
		if a.err = unix.SchedSetaffinity(0, &only); a.err == nil {
			a.v, a.err = f()
		}
		done <- a
	}()
	a := <-done
	return a.v, a.err
}

// F065: what a gigabyte of pages costs in energy, where the machine tells it. Nothing is asked but
// that the figure makes sense.
func TestF065EnergyOfAGigabyte(t *testing.T) {
	counter := require.Energy(t)
	joules := energyOf(t, counter.Read, counter.Joules, 5*time.Second)
	t.Logf("%.2f J for each GB of pages", joules)
	if joules <= 0 || joules > 1e4 {
		t.Errorf("%.2f J for each GB of pages", joules)
	}
}

// What divides energy by work is tried on a counter that says 3 J whenever it is read.
func TestEnergyOfACounterThatIsKnown(t *testing.T) {
	stands := uint64(0)
	read := func() ([]uint64, error) {
		stands += 3e6
		return []uint64{stands}, nil
	}
	used := func(from, to []uint64) (float64, error) { return float64(to[0]-from[0]) / 1e6, nil }
	const moment = 50 * time.Millisecond
	joules := energyOf(t, read, used, moment)
	if work := 3 / joules; work <= 0 || math.IsInf(work, 0) || work > 100 {
		t.Errorf("%.3g J for each GB, so %.3g GB were done in %v", joules, work, moment)
	}
}

// energyOf is how many joules the machine uses for each 10^9 bytes of pages that it decompresses
// for so long, on all cores.
func energyOf(t *testing.T, read func() ([]uint64, error), joules func(from, to []uint64) (float64, error), long time.Duration) float64 {
	t.Helper()
	const n = 2000
	b := mixed(t, somePages(n), "lz4")
	p := newPlanner(t, newCPU(t, "lz4", runtime.GOMAXPROCS(0)), Config{Items: n})
	before, err := read()
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for start := time.Now(); time.Since(start) < long; done += n {
		run(t, p, b)
	}
	after, err := read()
	if err != nil {
		t.Fatal(err)
	}
	used, err := joules(before, after)
	if err != nil {
		t.Fatal(err)
	}
	return used / (float64(done) * codec.PageSize / 1e9)
}
