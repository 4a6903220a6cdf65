// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// F043: with several pieces in the ring a copy there, a kernel and a copy back are under way at the
// same time. A profiler would show it; here the streams do.
func TestF043StagesOverlap(t *testing.T) {
	const pieces, batch = 8, 2
	tries := 5 // since the machine may have something else to do
	o := small()
	o.Batch = batch
	overlap := map[string]bool{}
	for link := int64(0); len(overlap) < 3; {
		s := driver.NewSimulator(driver.SimulatedDevice{Link: link})
		p := newPlanner(t, bulk.EnginesAlone, openEngine(t, s, o))
		stop := s.Trace()
		run(t, p, objects(t, memory(2*pieces*batch, 43), false))
		spans := stop()
		if link > 0 {
			overlaps(spans, overlap)
			tries--
		}
		if tries == 0 {
			break
		}
		// A copy is to take as long as a kernel takes here and now.
		link = max(1, int64(batch*codec.PageSize/meanKernel(spans).Seconds()))
	}
	for _, pair := range []string{"cuLaunchKernel cuMemcpyHtoDAsync", "cuLaunchKernel cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync cuMemcpyHtoDAsync"} {
		if !overlap[pair] {
			t.Errorf("never at the same time: %s", pair)
		}
	}
	if overlap["cuMemcpyHtoDAsync cuMemcpyHtoDAsync"] {
		t.Error("two copies there at the same time, of one stream")
	}
}

// overlaps notes which two kinds of work were under way at the same time.
func overlaps(spans []driver.Span, found map[string]bool) {
	for i, a := range spans {
		for _, b := range spans[:i] {
			if a.Overlaps(b) && a.Call != "cuMemsetD8Async" && b.Call != "cuMemsetD8Async" {
				found[min(a.Call, b.Call)+" "+max(a.Call, b.Call)] = true
			}
		}
	}
}

// meanKernel is how long a launch took.
func meanKernel(spans []driver.Span) time.Duration {
	sum, n := time.Duration(0), time.Duration(0)
	for _, s := range spans {
		if s.Call == "cuLaunchKernel" {
			sum, n = sum+s.End.Sub(s.Begin), n+1
		}
	}
	return max(sum/max(n, 1), time.Millisecond)
}
