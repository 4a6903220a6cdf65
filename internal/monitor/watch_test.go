// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/telemetry/latency"
	"github.com/zramfs/zramfs/loopsetup"
)

const mib = 1 << 20

var began = time.Date(2026, 11, 23, 12, 4, 0, 0, time.UTC)

// at is a sample of a swap device, seconds after began, with used bytes in swap.
func at(seconds int, used uint64) Sample {
	return Sample{
		At: began.Add(time.Duration(seconds) * time.Second),
		Device: swapdev.Device{
			Dir: "/run/zram", Keeper: 42,
			Swaps: []loopsetup.Swap{{Path: "/dev/loop0", Size: 1000 * mib, Used: used}},
			Status: &status.Status{KeeperPID: 42, WorkerPID: 43, UptimeSeconds: 100 + float64(seconds), ProcessMemoryBytes: 20 * mib,
				Memory: status.Memory{OrigDataSize: used, MemUsedTotal: used / 4}},
		},
	}
}

// counted is what a device has counted that has read and written that many pages.
func counted(reads, writes uint64) []status.Operation {
	return []status.Operation{{Op: "read", Pages: reads}, {Op: "write", Pages: writes}}
}

// silent is a sample of a device that does not answer.
func silent(seconds int) Sample {
	s := at(seconds, 0)
	s.Device.Status, s.Device.Err = nil, helper.ErrNoAnswer
	s.Problems = []swapdev.Problem{{What: "it does not answer"}}
	return s
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// Rates are differences of counters for each second, over all processors for the CPU.
func TestRates(t *testing.T) {
	h := NewHistory(10)
	a, b := at(0, 400*mib), at(2, 440*mib)
	a.Device.Status.Operations, a.Device.Status.IO.Discards = counted(1000, 2000), 30
	b.Device.Status.Operations, b.Device.Status.IO.Discards = counted(3480, 2620), 40
	a.Device.Status.CPUSeconds, b.Device.Status.CPUSeconds = 5, 5.3
	a.Device.SwapUse.Zswap, b.Device.SwapUse.Zswap = host.ZswapUse{Loads: 100, WrittenBack: 10}, host.ZswapUse{Loads: 5100, WrittenBack: 20}
	b.Device.Status.Memory.OrigDataSize = 495 * mib // with what was freed and not returned
	if p := h.Add([]Sample{a})[0]; p.Seconds != 0 || p.In.Pages != 0 || p.CPU != nil || p.FullIn != nil {
		t.Errorf("the first point has rates: %+v", p)
	}
	p := h.Add([]Sample{b})[0]
	if !near(p.Seconds, 2) || !near(p.In.Pages, 1240) || !near(p.Out.Pages, 310) || !near(p.Discards, 5) || !near(p.ZswapIn, 2500) || !near(p.ZswapBack, 5) || p.CPU == nil || !near(*p.CPU, 0.15) {
		t.Errorf("%+v", p)
	}
	if p.SwapUsed != 440*mib || p.SwapSize != 1000*mib || p.Memory != 110*mib || p.Saved != (440-110-20)*mib || !near(p.Ratio, 4.5) {
		t.Errorf("%+v", p)
	}
	// The ratio is that of both tiers.
	b.Device.SwapUse.All, b.Device.SwapUse.Zswap = 440*mib, host.ZswapUse{Held: 256 * mib, Pool: 59 * mib}
	if p := NewHistory(1).Add([]Sample{b})[0]; p.InZswap != 256*mib || p.Zswap != 64*mib || !near(p.Ratio, 751.0/174) {
		t.Errorf("%+v", p)
	}
	if got := h.Points("/run/zram"); len(got) != 2 || !slices.Equal(h.Dirs(), []string{"/run/zram"}) || h.Points("/other") != nil {
		t.Errorf("%d points", len(got))
	}
}

// Latencies are of the requests between two samples alone, and pages are those of requests: both
// go on when a worker dies.
func TestLatencyOfTheInterval(t *testing.T) {
	counts := func(fast, slow uint64) latency.Histogram {
		all := make([]uint64, latency.Buckets)
		all[latency.Index(40_000)], all[latency.Index(9_000_000)] = fast, slow
		return latency.Of(all)
	}
	h := NewHistory(10)
	a, b := at(0, mib), at(2, mib)
	a.Device.Status.IO.Reads, b.Device.Status.IO.Reads = 100_000, 7
	a.Device.Status.Operations = []status.Operation{{Op: "read", Requests: 1000, Pages: 5000, Buckets: counts(0, 1000)}}
	b.Device.Status.Operations = []status.Operation{
		{Op: "read", Requests: 1200, Pages: 5600, Buckets: counts(196, 1004)}, {Op: "write", Requests: 10, Pages: 80, Buckets: counts(10, 0)}}
	h.Add([]Sample{a})
	p := h.Add([]Sample{b})[0]
	if !near(p.In.Pages, 300) || !near(p.In.Requests, 100) || !near(p.Out.Pages, 40) || !near(p.Out.Requests, 5) {
		t.Errorf("%+v, %+v", p.In, p.Out)
	}
	for what, got := range map[string]struct{ ns, want int64 }{
		"p50 in": {p.In.P50, 40_000}, "p99 in": {p.In.P99, 9_000_000}, "p99 out": {p.Out.P99, 40_000},
	} {
		if math.Abs(float64(got.ns-got.want)) > float64(got.want)/8 {
			t.Errorf("%s is %d ns, want %d to an eighth", what, got.ns, got.want)
		}
	}
	if p := h.Add([]Sample{b})[0]; p.In.P50 != 0 || p.In.P99 != 0 {
		t.Errorf("no requests have the latency %+v", p.In)
	}
}

// The device's part of a request's time at the loop device is of the interval alone, and unknown
// where the kernel has not counted.
func TestSplit(t *testing.T) {
	h := NewHistory(10)
	a, b := at(0, mib), at(1, mib)
	for _, s := range []*Sample{&a, &b} {
		s.Device.Loops = []loopsetup.Info{{Path: "/dev/loop0"}}
	}
	a.Device.Block = host.BlockTimes{Reads: 1000, ReadTime: time.Minute}
	b.Device.Block = host.BlockTimes{Reads: 1200, ReadTime: time.Minute + 10*time.Millisecond}
	a.Device.Status.Operations = []status.Operation{{Op: "read", Requests: 10, SecondsTotal: 3}}
	b.Device.Status.Operations = []status.Operation{{Op: "read", Requests: 210, SecondsTotal: 3.002}}
	h.Add([]Sample{a})
	p := h.Add([]Sample{b})[0]
	if share, known := p.ReadTime.Share(); p.ReadTime.Loop != 50_000 || math.Abs(share-0.2) > 1e-3 || !known {
		t.Errorf("%+v: a share of %v, %v", p.ReadTime, share, known)
	}
	if share, known := p.WriteTime.Share(); known || share != 0 {
		t.Errorf("no write: %v", share)
	}
	c := at(2, mib) // the loop device was detached
	c.Device.Status.Operations = []status.Operation{{Op: "read", Requests: 310, SecondsTotal: 4}}
	if p := h.Add([]Sample{c})[0]; p.ReadTime != (swapdev.Split{}) {
		t.Errorf("without a loop device: %+v", p.ReadTime)
	}
}

// A counter that begins anew with another worker counts from 0.
func TestRatesAcrossWorkers(t *testing.T) {
	h := NewHistory(10)
	a, b := at(0, mib), at(1, mib)
	a.Device.Status.Operations, b.Device.Status.Operations = counted(1000, 0), counted(50, 0)
	a.Device.Status.CPUSeconds, b.Device.Status.CPUSeconds = 9, 9.25
	h.Add([]Sample{a})
	if p := h.Add([]Sample{b})[0]; !near(p.In.Pages, 50) || !near(*p.CPU, 0.25) {
		t.Errorf("%+v", p)
	}
	made := at(2, mib) // at the same DIR, by another keeper
	made.Device.Status.KeeperPID, made.Device.Status.UptimeSeconds, made.Device.Status.Operations = 77, 1, counted(900, 0)
	if p := h.Add([]Sample{made})[0]; p.Seconds != 0 || p.In.Pages != 0 {
		t.Errorf("another device goes on with the counters of the last one: %+v", p)
	}
}

// A device that does not answer has a point without figures, and the rates after it are over all of
// that time.
func TestSilence(t *testing.T) {
	h := NewHistory(10)
	a, b := at(0, 100*mib), at(4, 100*mib)
	b.Device.Status.Operations = counted(400, 0)
	h.Add([]Sample{a})
	p := h.Add([]Sample{silent(1)})[0]
	if p.Answer != "timeout" || p.Health != "degraded" || p.Answered() || p.Stored != 0 || p.Seconds != 0 {
		t.Errorf("%+v", p)
	}
	if p := h.Add([]Sample{b})[0]; !near(p.Seconds, 4) || !near(p.In.Pages, 100) || !p.Answered() || p.Health != "healthy" {
		t.Errorf("%+v", p)
	}
}

// The trend is over the last minute; the forecast is for what is full first, swap or memory limit.
func TestTrend(t *testing.T) {
	h := NewHistory(100)
	var p Point
	for i := range 91 { // nothing for 30 seconds, then 2 MiB a second
		p = h.Add([]Sample{at(i, uint64(100+2*max(i-30, 0))*mib)})[0]
		if i == 4 && p.Growth != 0 {
			t.Errorf("a trend after 4 seconds: %+v", p)
		}
	}
	if !near(p.Growth, 2*mib) || p.FullIn == nil || !near(*p.FullIn, (1000-220)/2) {
		t.Errorf("growth %g, full in %v", p.Growth, p.FullIn)
	}
	limited := at(91, 222*mib) // 55.5 MiB of memory, growing by a quarter of that
	limited.Device.Status.MemLimit = 65 * mib
	if p = h.Add([]Sample{limited})[0]; p.FullIn == nil || math.Abs(*p.FullIn-(65-55.5)*2) > 0.1 {
		t.Errorf("with a limit: full in %v", *p.FullIn)
	}
	for i := range 70 {
		p = h.Add([]Sample{at(92+i, 222*mib)})[0]
	}
	if p.Growth != 0 || p.FullIn != nil {
		t.Errorf("without growth: %+v", p)
	}
}

// The trend goes on where the clock is set.
func TestTrendWhileTheClockIsSet(t *testing.T) {
	for _, change := range []time.Duration{-time.Hour, -20 * time.Second, time.Hour} {
		h, start := NewHistory(100), time.Now()
		var p Point
		for i := range 60 {
			s := at(i, uint64(100+2*i)*mib)
			s.At = start.Add(time.Duration(i) * time.Second)
			if i >= 30 {
				setClock(&s.At, change)
			}
			p = h.Add([]Sample{s})[0]
		}
		if want := start.Add(59*time.Second + change); !near(p.Growth, 2*mib) || p.FullIn == nil || p.Time.Sub(want).Abs() > time.Second {
			t.Errorf("clock set by %v: growth %g, full in %v, at %v", change, p.Growth, p.FullIn, p.Time)
		}
	}
}

// setClock moves what the wall clock has shown at t, and leaves the reading of the clock that is
// never set as it is. Such a Time has its seconds from bit 30 on in its first word.
func setClock(t *time.Time, by time.Duration) {
	*(*int64)(unsafe.Pointer(t)) += int64(by/time.Second) << 30
}

// A history keeps as many points as it may, and forgets devices that are gone. Two devices of one
// name have points of their own.
func TestHistoryIsBounded(t *testing.T) {
	h := NewHistory(3)
	for i := range 5 {
		h.Add([]Sample{at(i, mib), at(i, 2*mib)})
	}
	points := h.Points("/run/zram")
	if len(points) != 3 || len(h.Dirs()) != 2 || points[0].Time != began.Add(2*time.Second) || points[2].SwapUsed != mib {
		t.Errorf("%d points of %v: %+v", len(points), h.Dirs(), points)
	}
	if h.Add(nil); len(h.Dirs()) != 0 {
		t.Errorf("it remembers %v", h.Dirs())
	}
}

// A device that is not used as swap saves what it compresses.
func TestSavedWithoutSwap(t *testing.T) {
	s := at(0, 100*mib)
	s.Device.Swaps = nil
	if p := NewHistory(2).Add([]Sample{s})[0]; p.Saved != (100-25-20)*mib || p.SwapSize != 0 {
		t.Errorf("%+v", p)
	}
}

// Rates are over the time between a device's own answers: a look that waits for another device ends
// later than they came.
func TestRatesWhileAnotherIsSilent(t *testing.T) {
	h := NewHistory(10)
	for i, waited := range []time.Duration{0, time.Second, 0} {
		s := at(i, mib)
		s.Device.Answered, s.Device.Status.Operations = s.At, counted(uint64(100*i), 0)
		p := h.Add([]Sample{newSample(s.Device, s.At.Add(waited))})[0]
		if i > 0 && (!near(p.Seconds, 1) || !near(p.In.Pages, 100) || !p.Time.Equal(s.At)) {
			t.Errorf("look %d: %g pages a second over %g s, at %v", i, p.In.Pages, p.Seconds, p.Time)
		}
	}
	s := silent(3)
	if got := newSample(s.Device, s.At); !got.At.Equal(s.At) || len(got.Problems) == 0 {
		t.Errorf("without an answer: %+v", got)
	}
}

// A name without a device is an error.
func TestTakeWithoutDevice(t *testing.T) {
	if samples, err := Take(t.TempDir()); len(samples) != 0 || !errors.Is(err, swapdev.ErrNotRunning) {
		t.Errorf("%v, %v", samples, err)
	}
}
