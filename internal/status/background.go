// SPDX-License-Identifier: Apache-2.0

package status

import "time"

// Cold says from when on pages are cold, and what became of them. Counts begin with the process.
type Cold struct {
	// Share is the part of one processor that packing may take, in per cent; 0 where it is off.
	Share int `json:"share_percent"`
	// State is "packing", "waiting" for pages to become cold or for time, or "off".
	State string `json:"state"`
	// Reason says why the state is off, or what packing waits for; empty where nothing is to be
	// said.
	Reason string `json:"reason"`
	// AgeSeconds is the age from which on pages are cold.
	AgeSeconds float64 `json:"age_seconds"`
	// ReadRate is the part of the stored pages that was read in the last minute after they became
	// cold.
	ReadRate float64 `json:"read_rate"`
	// Pages is the number of pages packed, each by itself, Joined that of pages joined in clusters,
	// and SavedBytes what both made their objects shorter.
	Pages      uint64 `json:"pages"`
	Joined     uint64 `json:"joined_pages"`
	SavedBytes uint64 `json:"saved_bytes"`
	// SpentSeconds is the time that packing took of one processor.
	SpentSeconds float64 `json:"spent_seconds"`
}

// The values of State in Cold, Scrub, Spill and Latency.
const (
	Off       = "off"
	Waiting   = "waiting"
	Packing   = "packing"
	Scrubbing = "scrubbing"
	Spilling  = "spilling"
	Held      = "held"
	Ready     = "ready"
)

// Scrub says what was proved since the process began.
type Scrub struct {
	// EverySeconds is the time between scrubs; 0 where there are none.
	EverySeconds float64 `json:"every_seconds"`
	// State is "scrubbing", "waiting" or "off".
	State string `json:"state"`
	// Reason says what a scrub waits for; empty where nothing is to be said.
	Reason string `json:"reason"`
	// Ended is when the last scrub ended; null before the first one did.
	Ended *time.Time `json:"ended"`
	// Pages is the number of pages that the last scrub proved, and Damaged how many of them read
	// with an error.
	Pages   uint64 `json:"pages"`
	Damaged uint64 `json:"damaged"`
	// DamagedPages has the numbers of the first 16 of them.
	DamagedPages []uint64 `json:"damaged_pages"`
	// SpentSeconds is the time that scrubs took of one processor.
	SpentSeconds float64 `json:"spent_seconds"`
}

// Spill says what a device has moved to its backing device by itself since its process began.
type Spill struct {
	// DailyBytes is how many bytes of pages may be moved in 24 hours; 0 where none are.
	DailyBytes uint64 `json:"daily_bytes"`
	// State is "spilling", "waiting" for the memory limit to come near, or "off".
	State string `json:"state"`
	// Reason says why the state is off, or why pages are not moved although the limit is near;
	// empty where nothing is to be said.
	Reason string `json:"reason"`
	// SpentBytes is how many bytes of pages were moved in the last 24 hours, and in up to four
	// before, also by processes before this one.
	SpentBytes uint64 `json:"spent_bytes"`
	// Pages is the number of pages moved so far.
	Pages uint64 `json:"pages"`
}

// Latency says whether idle processors are kept from halting, since the process began.
type Latency struct {
	// Policy is auto, low or off.
	Policy string `json:"policy"`
	// State is "held" while idle processors are kept from halting, "ready" while they may halt, and
	// "off" where the request is never held.
	State string `json:"state"`
	// Reason says why the state is "off", or why the request is not held although requests come.
	Reason string `json:"reason"`
	// Holds is how often the request was taken.
	Holds uint64 `json:"holds"`
	// HeldSeconds is for how long in all.
	HeldSeconds float64 `json:"held_seconds"`
	// WakeUpUs is the time in microseconds that a thread takes to wake one on another processor
	// that is idle, and WakeUpHeldUs the same while the request is held: medians, 0 before they are
	// measured.
	WakeUpUs     float64 `json:"wake_up_us"`
	WakeUpHeldUs float64 `json:"wake_up_held_us"`
	// LoneRequests is how many requests came after a pause and found no other under way, as those
	// of page faults do.
	LoneRequests uint64 `json:"lone_requests"`
}
