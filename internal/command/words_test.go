// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// TestSideWords wants the lines of status that depend on what the device does at the moment.
func TestSideWords(t *testing.T) {
	spill := func(s status.Spill) string {
		return spillWords(&status.Status{Spill: s, Backing: status.Backing{Path: "/b"}})
	}
	minute := func(seconds, in, out float64) string {
		return minuteWords(status.Minute{Seconds: seconds, In: status.Flow{Pages: in}, Out: status.Flow{Pages: out}})
	}
	ended := ago(time.Hour)
	for _, c := range []struct{ got, want string }{
		{spillWords(&status.Status{Spill: status.Spill{State: status.Off, Reason: "no limit"}}), ""},
		{spill(status.Spill{State: status.Off, Reason: "no limit"}), "only where writeback asks for it: no limit"},
		{spill(status.Spill{State: status.Waiting, Pages: 256, SpentBytes: 1 << 20, DailyBytes: 1 << 30}),
			"256 pages so far, 1M of 1G in the last 24 hours"},
		{spill(status.Spill{State: status.Waiting, DailyBytes: 1 << 30, Reason: "spent"}),
			"0 pages so far, 0B of 1G in the last 24 hours (spent)"},
		{backingWords(status.Backing{Pages: 1}), ""},
		{backingWords(status.Backing{Path: "/b", Capacity: 1 << 10, Pages: 20, Writes: 30, Reads: 10}),
			"/b: 20 of 1,024 pages, 30 written and 10 read so far"},
		{backingWords(status.Backing{Path: "/b", Limited: true, Limit: 5, FailedWrites: 1}),
			"/b: 0 of 0 pages, 0 written and 0 read so far, 5 may yet be written, 1 writes failed"},
		{coldWords(status.Cold{State: status.Waiting, AgeSeconds: 120, Pages: 3, Joined: 1, SavedBytes: 1 << 10}),
			"from 2m0s on; 3 pages packed, 1 joined with neighbours, 1K saved"},
		{scrubWords(status.Scrub{State: status.Waiting}, testNow), "none yet"},
		{scrubWords(status.Scrub{State: status.Scrubbing}, testNow), "none yet; one is under way"},
		{scrubWords(status.Scrub{State: status.Waiting, Ended: &ended, Pages: 9, Reason: "programs wait"}, testNow),
			"1h0m ago: 9 pages proved, none damaged (programs wait)"},
		{scrubWords(status.Scrub{State: status.Waiting, Ended: &ended, Pages: 9, Damaged: 1, DamagedPages: []uint64{7}}, testNow),
			"1h0m ago: 9 pages proved, 1 damaged, such as 7"},
		{latencyWords(status.Latency{Policy: string(pmqos.Low), State: status.Held, HeldSeconds: 60}), "low: idle processors poll, polled 1m0s in all"},
		{latencyWords(status.Latency{Policy: string(pmqos.Auto), State: status.Ready, WakeUpUs: 0.5, WakeUpHeldUs: 0.25}),
			"auto: processors may halt, polled 0s in all; a wake-up takes 0.5 us, 0.2 while they poll"},
		{splitWords(swapdev.Split{}, swapdev.Split{}), ""},
		{requestWords([]status.Operation{{Op: "write"}, {Op: "discard", Requests: 3}}), ""},
		{minute(0, 1, 1), ""},
		{minute(20, 0, 0.1), "0 pages/s in; 0.1 pages/s out (over 20 s)"},
		{minute(49.9, 9.96, 10), "10.0 pages/s in; 10 pages/s out (over 50 s)"},
		{minute(50, 0.09, 1234.4), "under 0.1 pages/s in; 1,234 pages/s out"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
