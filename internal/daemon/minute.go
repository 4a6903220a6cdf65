// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/telemetry/latency"
)

// MinuteStatus has the rates of the last minute.
type MinuteStatus struct {
	// Seconds is the time that the rates are over: a minute, give or take some seconds, and less at
	// first. It is 0 where they are unknown.
	Seconds float64 `json:"seconds"`
	// In are pages read from the device, as by page faults; Out are pages written.
	In  Flow `json:"in"`
	Out Flow `json:"out"`
}

// A Flow is the traffic in one direction.
type Flow struct {
	// Pages is the number of pages a second.
	Pages float64 `json:"pages_per_second"`
	// Requests is the number of requests a second, of one or more pages.
	Requests float64 `json:"requests_per_second"`
	// P50 and P99 are the times in nanoseconds that half and 99 % of the requests of the interval
	// did not exceed in the device; 0 without a request.
	P50 int64 `json:"p50_ns"`
	P99 int64 `json:"p99_ns"`
}

// NewFlow returns the traffic of some pages, in requests of these durations, over a time in seconds
// above 0.
func NewFlow(pages uint64, times latency.Histogram, seconds float64) Flow {
	return Flow{
		Pages: float64(pages) / seconds, Requests: float64(times.Count()) / seconds,
		P50: times.Quantile(0.5).Nanoseconds(), P99: times.Quantile(0.99).Nanoseconds(),
	}
}

func minuteStatus(a *telemetry.Area) MinuteStatus {
	r := a.Recent(timeAwake())
	s := MinuteStatus{Seconds: r.Over.Seconds()}
	if s.Seconds > 0 {
		s.In, s.Out = NewFlow(r.In.Pages, r.In.Latency, s.Seconds), NewFlow(r.Out.Pages, r.Out.Latency, s.Seconds)
	}
	return s
}

// markMinutes notes what was counted, from time to time, until stop is closed.
func markMinutes(a *telemetry.Area, stop <-chan struct{}) {
	timer := time.NewTimer(a.Mark(timeAwake()))
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
			timer.Reset(a.Mark(timeAwake()))
		}
	}
}
