// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/telemetry/latency"
)

// OperationStatus is what is known about all requests of a kind since the device was made, also by
// workers that have died. The times are the worker's part: from the moment at which it received a
// request until it had answered. The rest of a page fault is the kernel's.
type OperationStatus struct {
	// Op is read, write, discard or flush.
	Op string `json:"op"`
	// Requests is how many there were, those that failed included.
	Requests uint64 `json:"requests"`
	// Pages is how many pages they touched, also in part.
	Pages uint64 `json:"pages"`
	// Bytes is how many bytes of them.
	Bytes uint64 `json:"bytes"`
	// Errors is how many requests ended in an error.
	Errors uint64 `json:"errors"`
	// SecondsTotal is the time of all of them together, in seconds.
	SecondsTotal float64 `json:"seconds_total"`
	// P50, P90, P99 and P999 are times that 50, 90, 99 and 99.9 per cent of the requests did not
	// exceed, in nanoseconds. They are right to a tenth, and 0 where there was no request.
	P50  uint64 `json:"p50_ns"`
	P90  uint64 `json:"p90_ns"`
	P99  uint64 `json:"p99_ns"`
	P999 uint64 `json:"p999_ns"`
	// Max is the longest time, in nanoseconds.
	Max uint64 `json:"max_ns"`
	// Buckets are pairs of an upper bound in nanoseconds and the number of requests below it that
	// are in no lower bucket; empty ones are left out. The difference of two snapshots is the
	// histogram of the time between them, see package latency.
	Buckets latency.Histogram `json:"buckets"`
}

// BatchStatus says how many pages the requests of a kind had.
type BatchStatus struct {
	// Op is read, write or discard.
	Op string `json:"op"`
	// Sizes are pairs of a number of pages and a number of requests: those with that many pages, or
	// fewer but more than the next power of two below it: 1, 2, 4 for 3 and 4, 8 for 5 to 8 and so
	// on.
	Sizes [][2]uint64 `json:"sizes"`
}

// StallStatus counts the requests that had to wait for memory, since the device was made.
type StallStatus struct {
	// Requests is how many.
	Requests uint64 `json:"requests"`
	// Seconds is how long they waited all together.
	Seconds float64 `json:"seconds"`
}

// operationStatus returns what the counters have.
func operationStatus(a *telemetry.Area) ([]OperationStatus, []BatchStatus) {
	all, batches := []OperationStatus{}, []BatchStatus{}
	for _, o := range a.Operations() {
		longest := uint64(o.Longest)
		within := func(q float64) uint64 { return min(uint64(o.Latency.Quantile(q)), longest) }
		all = append(all, OperationStatus{
			Op: o.Op.String(), Requests: o.Requests, Pages: o.Pages, Bytes: o.Bytes, Errors: o.Errors, SecondsTotal: o.Time.Seconds(),
			P50: within(0.5), P90: within(0.9), P99: within(0.99), P999: within(0.999), Max: longest, Buckets: o.Latency,
		})
		if o.Op != telemetry.Flush {
			b := BatchStatus{Op: o.Op.String(), Sizes: [][2]uint64{}}
			for _, size := range o.Batches {
				b.Sizes = append(b.Sizes, [2]uint64{size.Pages, size.Requests})
			}
			batches = append(batches, b)
		}
	}
	return all, batches
}

func stallStatus(a *telemetry.Area) StallStatus {
	requests, waited := a.Stalls()
	return StallStatus{Requests: requests, Seconds: waited.Seconds()}
}

// now is the time of a snapshot: to the millisecond, in UTC, since local time would read a file.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
