// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// operationStatus returns what the counters have.
func operationStatus(a *telemetry.Area) ([]status.Operation, []status.Batch) {
	all, batches := []status.Operation{}, []status.Batch{}
	for _, o := range a.Operations() {
		longest := uint64(o.Longest)
		within := func(q float64) uint64 { return min(uint64(o.Latency.Quantile(q)), longest) }
		all = append(all, status.Operation{
			Op: o.Op.String(), Requests: o.Requests, Pages: o.Pages, Bytes: o.Bytes, Errors: o.Errors, SecondsTotal: o.Time.Seconds(),
			P50: within(0.5), P90: within(0.9), P99: within(0.99), P999: within(0.999), Max: longest, Buckets: o.Latency,
		})
		if o.Op != telemetry.Flush {
			b := status.Batch{Op: o.Op.String(), Sizes: [][2]uint64{}}
			for _, size := range o.Batches {
				b.Sizes = append(b.Sizes, [2]uint64{size.Pages, size.Requests})
			}
			batches = append(batches, b)
		}
	}
	return all, batches
}

func stallStatus(a *telemetry.Area) status.Stalls {
	requests, waited := a.Stalls()
	return status.Stalls{Requests: requests, Seconds: waited.Seconds()}
}

// now is the time of a snapshot: to the millisecond, in UTC, since local time would read a file.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
