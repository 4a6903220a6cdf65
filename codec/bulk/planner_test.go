// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// paced makes each item of a batch take a time before its engine begins, on the clock of a test
// in a bubble (testing/synctest), where computing takes none: what a planner does then depends on
// no other process of the machine.
func paced(b *Batch, each time.Duration) {
	b.Before = func(items []uint32) { time.Sleep(time.Duration(len(items)) * each) }
}

// An engine that is much slower than the CPU does not hold a batch up once that is known, and
// learning it costs one piece a lane.
func TestSlowEngineIsLeftOut(t *testing.T) {
	const n = 4000
	all := lz4Only(t, n)
	synctest.Test(t, func(t *testing.T) {
		e := newSecond(t, "lz4", codec.LZ4)
		e.each = time.Millisecond // a piece takes 128 ms, what is left of the batch 70
		p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, e)
		b := mixed(t, all, "lz4")
		paced(b, 5*time.Microsecond)
		if r := run(t, p, b); r.Engines[1].Pieces == 0 || r.Engines[1].Pieces > e.limits.Lanes {
			t.Errorf("the first time: %+v", r)
		}
		for i := range probeEvery {
			r := run(t, p, b)
			checkPages(t, b, all)
			if r.Engines[1].Pieces != 0 || r.Fallbacks[Slow] != n {
				t.Errorf("batch %d afterwards: %+v", i, r)
			}
		}
		// Once it has become faster, it comes back.
		e.each = 0
		if r := run(t, p, b); r.Engines[1].Pieces == 0 {
			t.Errorf("not tried again: %+v", r)
		}
	})
}

// An engine that is much faster than the CPU gets nearly all of a large batch.
func TestFastEngineGetsMost(t *testing.T) {
	const n = 4000
	all := lz4Only(t, n)
	synctest.Test(t, func(t *testing.T) {
		e := newSecond(t, "lz4", codec.LZ4)
		e.each = time.Microsecond
		p := newPlanner(t, newCPU(t, "lz4", 1), Config{}, e)
		b := mixed(t, all, "lz4")
		b.Before = func(items []uint32) {
			if len(items) <= cpuMax { // the CPU's
				time.Sleep(time.Duration(len(items)) * 100 * time.Microsecond)
			}
		}
		run(t, p, b)
		if r := run(t, p, b); r.Share("second") < 0.8 {
			t.Errorf("%.2f, %+v", r.Share("second"), r)
		}
		checkPages(t, b, all)
	})
}

// An engine that becomes slow in the middle is found out by the pieces that it has, and gets
// smaller ones or none.
func TestEngineThatSlowsDown(t *testing.T) {
	const n = 4000
	all := lz4Only(t, n)
	synctest.Test(t, func(t *testing.T) {
		e := newSecond(t, "lz4", codec.LZ4)
		e.limits.Lanes = 1
		p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, e)
		b := mixed(t, all, "lz4")
		paced(b, 5*time.Microsecond)
		for range 10 {
			run(t, p, b)
		}
		e.delay = 300 * time.Millisecond
		before := e.pieces.Load()
		for range 5 {
			run(t, p, b)
			checkPages(t, b, all)
		}
		if pieces := e.pieces.Load() - before; pieces == 0 || pieces > 3 {
			t.Errorf("%d pieces of 300 ms", pieces)
		}
	})
}

// While a piece is with an engine that then fails, the CPU waits for it.
func TestCPUWaitsForWhatComesBack(t *testing.T) {
	const n = 2000
	all := lz4Only(t, n)
	e := newSecond(t, "lz4", codec.LZ4)
	e.delay, e.spoil = 50*time.Millisecond, true
	e.fail = func(int) error { return errInjected }
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone, Piece: 2000}, e)
	b := mixed(t, all, "lz4")
	r := run(t, p, b)
	checkPages(t, b, all)
	if r.Engines[1].Failures != 1 || r.Fallbacks[Failed] != n || r.Elapsed < 50*time.Millisecond {
		t.Errorf("%+v", r)
	}
}

// Batches of several callers are done one after the other.
func TestConcurrentCallers(t *testing.T) {
	const n = 1500
	all := somePages(n)
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, newSecond(t, "lz4", codec.LZ4))
	var callers sync.WaitGroup
	for range 4 {
		b := mixed(t, all, "lz4", "page")
		callers.Go(func() {
			for range 5 {
				if err := p.Run(t.Context(), b, nil); err != nil {
					t.Error(err)
				}
			}
			checkPages(t, b, all)
		})
	}
	callers.Wait()
}

// After Close there is no goroutine left, the engines are closed once, and it does nothing.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	e := newSecond(t, "lz4", codec.LZ4)
	p, err := NewPlanner(newCPU(t, "lz4", 4), []Engine{e}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := mixed(t, somePages(1200), "lz4")
	run(t, p, b)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for tries := 0; runtime.NumGoroutine() > before && tries < 100; tries++ {
		time.Sleep(10 * time.Millisecond) // one that has called Done may not have ended yet
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	if e.closed.Load() != 1 {
		t.Errorf("closed %d times", e.closed.Load())
	}
	if err := p.Run(t.Context(), b, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A planner that cannot be made says why.
func TestNewPlannerRefuses(t *testing.T) {
	cpu := newCPU(t, "lz4", 1)
	var many []Engine
	for i := range maxEngines + 1 {
		e := newSecond(t, "raw")
		e.name = strings.Repeat("x", i+1)
		many = append(many, e)
	}
	for name, c := range map[string]struct {
		engines []Engine
		config  Config
	}{
		"names":  {[]Engine{newSecond(t, "raw"), newSecond(t, "raw")}, Config{}},
		"cpu":    {[]Engine{cpu}, Config{}},
		"many":   {many, Config{}},
		"items":  {nil, Config{Items: -1}},
		"pieces": {nil, Config{Piece: MaxItems + 1}},
	} {
		if _, err := NewPlanner(cpu, c.engines, c.config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewCPU(parse(t, "lz4"), -1); err == nil {
		t.Error("a CPU engine of -1 workers")
	}
	if _, err := NewCPU(codec.Algorithm{}, 1); !errors.Is(err, codec.ErrUnknownAlgorithm) {
		t.Errorf("no algorithm: %v", err)
	}
}

// The engines that may work can change between batches.
func TestSetMode(t *testing.T) {
	const n = 1000
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{}, newSecond(t, "lz4", codec.LZ4))
	b := mixed(t, lz4Only(t, n), "lz4")
	for mode, want := range map[Mode]int{CPUAlone: 0, EnginesAlone: n} {
		p.SetMode(mode)
		if r := run(t, p, b); r.Engines[1].Items != want || r.Fallbacks != [Reasons]int{} {
			t.Errorf("mode %d: %+v", mode, r)
		}
	}
}

// Reports add up.
func TestReportAdds(t *testing.T) {
	p := newPlanner(t, newCPU(t, "lz4", 2), Config{Mode: EnginesAlone}, newSecond(t, "lz4", codec.LZ4))
	b := mixed(t, lz4Only(t, 1000), "lz4", "page")
	var sum Report
	for range 3 {
		sum.Add(run(t, p, b))
	}
	if sum.Batches != 3 || sum.Items != 3000 || sum.Verdicts[Done] != 3000 || sum.Engines[0].Items != 1500 || sum.Engines[1].Batches != 3 || sum.Engines[1].Times.Kernel == 0 {
		t.Errorf("%+v", sum)
	}
	if s := sum.Share("second"); s != 0.5 || sum.Share("nobody") != 0 {
		t.Errorf("share %v", s)
	}
}

// Of each engine the report says what ratio and speed it had, and of its stages whether computing
// takes most.
func TestReportOfAnEngine(t *testing.T) {
	e := EngineReport{Items: 100, Objects: 100 * codec.PageSize / 4, Busy: time.Millisecond}
	if e.Ratio() != 4 || e.BytesPerSecond() != 100*codec.PageSize*1000 {
		t.Errorf("%v, %v", e.Ratio(), e.BytesPerSecond())
	}
	if e = (EngineReport{}); e.Ratio() != 0 || e.BytesPerSecond() != 0 {
		t.Errorf("of nothing: %v, %v", e.Ratio(), e.BytesPerSecond())
	}
	for times, want := range map[Times]bool{
		{}: false, {H2D: 1, Kernel: 10, D2H: 1}: true, {H2D: 1, Kernel: 9, D2H: 1}: false, {Kernel: 1}: true, {H2D: 1}: false,
	} {
		if times.Outweighs() != want {
			t.Errorf("%+v: %v", times, !want)
		}
	}
}

// Every word for people is one.
func TestNames(t *testing.T) {
	for r := range Reasons + 1 {
		if got := r.String(); (got == "") != false || strings.HasPrefix(got, "reason") != (r == Reasons) {
			t.Errorf("reason %d is %q", r, got)
		}
	}
	for v := range verdicts + 1 {
		if got := v.String(); strings.HasPrefix(got, "verdict") != (v == verdicts) {
			t.Errorf("verdict %d is %q", v, got)
		}
	}
	for o := range ops + 1 {
		if got := o.String(); strings.HasPrefix(got, "operation") != (o == ops) {
			t.Errorf("operation %d is %q", o, got)
		}
	}
}
