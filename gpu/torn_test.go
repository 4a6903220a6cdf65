// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// Whatever call fails with memory that the device knows, the batches come out the same.
func TestEachCallFailsOnceStraight(t *testing.T) {
	b := objectsBy(t, text(26), false, "lz4")
	cpu, want := newPlanner(t, bulk.CPUAlone), copyOf(b, bulk.Decompress)
	run(t, cpu, want)
	there := aligned(len(b.Pages))
	o := Options{Batch: 24, Slots: 2, Path: Straight, Compress: true}
	eachCallFails(t, o, func(t *testing.T, p *bulk.Planner) {
		// The engine goes without memory that cannot be registered.
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

// A device that falls silent and may yet write to the batch's pages ends the batch; one that writes
// to memory of its own does not.
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

// After a sticky error, or when the work under way is unknown, the device is stopped before an
// engine does its pages again; if it cannot be stopped, because something else uses it, no engine
// does.
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
