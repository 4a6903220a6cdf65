// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
)

func minuteStatus(a *telemetry.Area) status.Minute {
	r := a.Recent(timeAwake())
	s := status.Minute{Seconds: r.Over.Seconds()}
	if s.Seconds > 0 {
		s.In, s.Out = status.NewFlow(r.In.Pages, r.In.Latency, s.Seconds), status.NewFlow(r.Out.Pages, r.Out.Latency, s.Seconds)
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
