// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// Whatever call fails, once or for good, the batch has the same result, and nothing is left on the
// device.
func TestEachCallFailsOnce(t *testing.T) {
	b := objects(t, memory(40, 3), true)
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	eachCallFails(t, Options{Batch: 16, Slots: 2, Path: Copied}, func(t *testing.T, p *bulk.Planner) {
		for range 2 {
			got := copyOf(b, bulk.Decompress)
			run(t, p, got)
			same(t, got, want)
		}
	})
}

// eachCallFails repeats a story with a device on which one call fails, each call in its turn.
func eachCallFails(t *testing.T, o Options, tell func(t *testing.T, p *bulk.Planner)) {
	t.Helper()
	o.Driver.Limit = patience
	story := func(t *testing.T, s *driver.Simulator) {
		t.Helper()
		d, err := s.Driver()
		if err != nil {
			return // which package driver tests
		}
		defer func() { _ = d.Close() }() // whose error is that of the call that fails
		e, err := Open(d, o)
		if err != nil {
			return
		}
		p := newPlanner(t, bulk.EnginesAlone, quiet{e})
		tell(t, p)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	s := simulated(1)
	story(t, s)
	for call, times := range s.Calls() {
		turns := slices.Compact([]int{1, (times + 1) / 2, times})
		if testing.Short() {
			turns = turns[len(turns)-1:]
		}
		for _, n := range turns {
			for _, code := range []driver.Code{driver.Unknown, driver.LaunchFailed} {
				t.Run(fmt.Sprintf("%s/%d/%d", call, n, code), func(t *testing.T) {
					s := simulated(1)
					s.Fail(call, n, code)
					story(t, s)
				})
			}
		}
	}
}

// quiet is an engine whose Close may fail, because a call was to fail there.
type quiet struct{ *Engine }

func (q quiet) Close() error {
	_ = q.Engine.Close()
	return nil
}

// two opens two devices; limit is the second one's.
func two(t *testing.T, limit time.Duration) (*driver.Simulator, *bulk.Planner) {
	t.Helper()
	s := simulated(2)
	d, err := s.Driver()
	if err != nil {
		t.Fatal(err)
	}
	var engines []bulk.Engine
	for i := range 2 {
		o := small()
		o.Batch = 16
		if o.Device = i; i == 1 {
			o.Driver.Limit = limit
		}
		e, err := Open(d, o)
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	return s, newPlanner(t, bulk.EnginesAlone, engines...)
}

func TestF041TwoDevicesShareTheWork(t *testing.T) {
	_, p := two(t, patience)
	b := objects(t, memory(300, 4), false)
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	r := run(t, p, b)
	same(t, b, want)
	if r.Share("gpu0") == 0 || r.Share("gpu1") == 0 {
		t.Errorf("two devices share the work as %v and %v", r.Share("gpu0"), r.Share("gpu1"))
	}
}

// A device that does not answer costs its limit once; the planner goes on without it, and with the
// other one.
func TestF041OneOfTwoDevicesIsSilent(t *testing.T) {
	s, p := two(t, time.Second)
	release := s.Hold(1)
	defer release()
	b := objects(t, memory(300, 4), false)
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	r := run(t, p, b)
	same(t, b, want)
	if e := r.Engines[2]; e.Name != "gpu1" || !e.Dead || !errors.Is(e.Err, driver.ErrTimeout) {
		t.Errorf("the silent device is reported as %+v", e)
	}
	if r.Share("gpu0") == 0 {
		t.Error("the other device did nothing")
	}
}

// piece makes one of a whole batch.
func piece(b *bulk.Batch) bulk.Piece {
	p := bulk.Piece{Batch: b}
	for i := range b.N {
		p.Items = append(p.Items, uint32(i))
	}
	return p
}

// After an error that leaves the context alive Do returns only when the device has done with the
// slot; and the slot works again.
func TestErrorsLeaveNothingUnderWay(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	b := objects(t, memory(20, 6), false)
	release := s.Hold(0)
	s.Fail("cuStreamWaitEvent", 1, driver.Unknown)
	answer := make(chan error, 1)
	go func() {
		_, err := e.Do(context.Background(), 0, piece(b))
		answer <- err
	}()
	select {
	case err := <-answer:
		t.Errorf("with a copy under way Do answers %v", err)
	case <-time.After(100 * time.Millisecond):
		release()
		if err := <-answer; !errors.Is(err, driver.Unknown) || errors.Is(err, bulk.ErrDead) {
			t.Errorf("do answers %v", err)
		}
	}
	release()
	if _, err := e.Do(context.Background(), 0, piece(b)); err != nil {
		t.Error(err)
	}
	if st := e.Stats(bulk.Decompress); st.Failed != 1 || st.Pieces != 1 {
		t.Errorf("one piece failed and one was done, but %+v", st)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A slot whose streams cannot be emptied is never used again: a copy that is left in them would
// take what the next piece writes there for addresses.
func TestStreamsThatDoNotEmptyEndTheEngine(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	b := objects(t, memory(20, 6), false)
	s.Fail("cuStreamWaitEvent", 1, driver.Unknown)
	s.Fail("cuEventRecord", 3, driver.Unknown)
	for range 2 {
		if _, err := e.Do(context.Background(), 0, piece(b)); !errors.Is(err, bulk.ErrDead) || errors.Is(err, bulk.ErrTorn) {
			t.Errorf("do answers %v", err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A dead context is told to the planner as what it is.
func TestDeadContextIsADeadEngine(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	b := objects(t, memory(20, 6), false)
	s.Fail("run kernel", 1, driver.IllegalAddress)
	if _, err := e.Do(context.Background(), 0, piece(b)); !errors.Is(err, bulk.ErrDead) || !errors.Is(err, driver.IllegalAddress) {
		t.Errorf("do answers %v", err)
	}
	if _, err := e.Do(context.Background(), 1, piece(b)); !errors.Is(err, bulk.ErrDead) {
		t.Errorf("do answers %v after that", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A batch that is cancelled ends soon, and the next one is done as if nothing had been.
func TestCancelledBatch(t *testing.T) {
	s := simulated(1)
	e := openEngine(t, s, small())
	p := newPlanner(t, bulk.EnginesAlone, e)
	b := objects(t, memory(300, 5), false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Run(ctx, b, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled batch ends with %v", err)
	}
	want := copyOf(b, bulk.Decompress)
	run(t, newPlanner(t, bulk.CPUAlone), want)
	run(t, p, b)
	same(t, b, want)
}

func TestF042NothingIsLeftOnTheDevice(t *testing.T) {
	s := simulated(1)
	o := small()
	o.Path, o.Batch, o.Slots = Measured, 16, 2
	e := openEngine(t, s, o)
	if path := e.Path(); path == Measured {
		t.Errorf("the path is %s", path)
	}
	region := aligned(4096)
	if err := e.Register(region, false); err != nil {
		t.Fatal(err)
	}
	if err := e.Register(region[:17], false); err == nil {
		t.Error("a region of 17 bytes is accepted")
	}
	if err := e.Unregister(region[16:]); !errors.Is(err, driver.ErrArgument) {
		t.Errorf("unregistering what is not: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
