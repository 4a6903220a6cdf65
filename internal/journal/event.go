// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
)

// An Event is what happened to a device, as JSON shows it.
type Event struct {
	// Number counts the device's events from 0: where some are missing, they were overwritten.
	Number uint64 `json:"number"`
	// Time is when it happened.
	Time time.Time `json:"time"`
	// Kind is a word for programs, see [telemetry.Kind].
	Kind string `json:"kind"`
	// PID is the process that noted it, keeper or worker.
	PID int `json:"pid"`
	// Text says what happened.
	Text string `json:"text"`
}

// Events returns the events from number from on that the device still has, and not before since,
// the oldest first, and the number to go on with.
func Events(a *telemetry.Area, from uint64, since time.Time) (all []Event, next uint64) {
	found, next := a.Events(from)
	all = []Event{}
	for _, e := range found {
		if !e.Time.Before(since) {
			all = append(all, Event{Number: e.Number, Time: e.Time.UTC(), Kind: e.Kind.String(), PID: e.PID, Text: e.Text})
		}
	}
	return all, next
}

// Line is the event as a line: when, what, and which process has noted it.
func (e Event) Line() string {
	return fmt.Sprintf("%s  %-14s  %s\n", e.Time.Local().Format("2006-01-02 15:04:05.000"), e.Kind, e.Text)
}
