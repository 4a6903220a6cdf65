// SPDX-License-Identifier: Apache-2.0

package status

import "github.com/zramfs/zramfs/internal/telemetry/latency"

// Ages says how long ago stored pages were written or read. It is a second old while pages
// are accessed, and up to a minute while none are.
type Ages struct {
	// Classes has a class for each doubling of the age, the youngest first; empty where the device
	// does not know ages.
	Classes []Age `json:"classes"`
	// Idle is the number of pages that the attribute idle marked, and no request accessed since.
	Idle uint64 `json:"idle"`
	// Recompressed is the number of stored pages that the attribute recompress has made smaller.
	Recompressed uint64 `json:"recompressed"`
	// Incompressible is the number of stored pages that it could not make smaller.
	Incompressible uint64 `json:"incompressible"`
}

// Age is a class of ages. Neighbours overlap, since an age is known within a third.
type Age struct {
	// FromSeconds is the least age.
	FromSeconds float64 `json:"from_seconds"`
	// ToSeconds is the largest age; 0 in the last class, which has no end.
	ToSeconds float64 `json:"to_seconds"`
	// Pages is the number of pages stored of this age.
	Pages uint64 `json:"pages"`
	// Refaults is the number of pages of this age that were read since the device was made.
	Refaults uint64 `json:"refaults"`
}

// Minute has the rates of the last minute.
type Minute struct {
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

// Operation is what is known about all requests of a kind since the device was made, also by
// workers that have died. The times are the worker's part: from the moment at which it received a
// request until it had answered. The rest of a page fault is the kernel's.
type Operation struct {
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

// Batch says how many pages the requests of a kind had.
type Batch struct {
	// Op is read, write or discard.
	Op string `json:"op"`
	// Sizes are pairs of a number of pages and a number of requests: those with that many pages, or
	// fewer but more than the next power of two below it: 1, 2, 4 for 3 and 4, 8 for 5 to 8 and so
	// on.
	Sizes [][2]uint64 `json:"sizes"`
}

// Stalls counts the requests that had to wait for memory, since the device was made.
type Stalls struct {
	// Requests is how many.
	Requests uint64 `json:"requests"`
	// Seconds is how long they waited all together.
	Seconds float64 `json:"seconds"`
}
