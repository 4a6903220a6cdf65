// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/helper"
	devicejournal "github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// A readFunc returns the events that the device at dir has, the oldest first, within a time limit.
type readFunc func(dir string, limit time.Duration) ([]devicejournal.Event, error)

// leastRead is the time that each keeper has to answer for its events: more than one that runs
// takes.
const leastRead = helper.AnswerTime / 10

// readAgain is the time after which a device is asked again whose events could not be read: a
// keeper that is stopped keeps all requests waiting for helper.AnswerTime each time.
const readAgain = time.Minute

// readEvents is a readFunc.
func readEvents(dir string, limit time.Duration) ([]devicejournal.Event, error) {
	counters, err := control.OpenCountersWithin(limit, dir)
	if err != nil {
		return nil, err
	}
	all, _ := devicejournal.Events(counters.Area, 0, time.Time{})
	return all, counters.Close()
}

// levels are those of the kinds of events of a device; other kinds are notes.
var levels = map[string]string{
	telemetry.Started.String(): "good", telemetry.Recovered.String(): "good",
	telemetry.WorkerDied.String(): "bad", telemetry.UpgradeFailed.String(): "bad", telemetry.Limit.String(): "bad",
	telemetry.Damaged.String(): "bad", telemetry.Failed.String(): "bad",
}

// A source is how far the journal has taken the events of a device.
type source struct {
	keeper int
	total  uint64    // of the device's events
	read   bool      // they could be read
	asked  time.Time // when they were read or tried last
}

// take adds the events that devices have noted themselves since the last time, and returns the
// names of devices whose events are known. A device tells how many it has, so it is asked only when
// there are more, and again later where it did not answer. Its events come after a restart of the
// monitor too, and stay here when it has ended. Those of a device in another mount namespace cannot
// be read: its DIR here may be another's. A keeper may be stopped while its worker answers: all of
// them have little more than helper.AnswerTime, since all requests wait for this.
func (j *journal) take(samples []monitor.Sample, read readFunc) map[string]bool {
	known, sources, begin := map[string]bool{}, map[string]source{}, time.Now()
	names := namesOf(samples)
	for i, s := range samples {
		if s.Device.Status == nil || s.Device.Elsewhere {
			continue
		}
		name, now := names[i], source{keeper: s.Device.Status.KeeperPID}
		for _, n := range s.Device.Status.EventsTotal {
			now.total += n
		}
		before := j.sources[name]
		now.read, now.asked = before.read, before.asked
		if before.keeper != now.keeper || before.total != now.total || !now.read && begin.Sub(now.asked) >= readAgain {
			now.asked = begin
			all, err := read(s.Device.Dir, max(helper.AnswerTime-time.Since(begin), leastRead))
			now.read = err == nil
			for _, e := range all {
				if e := (event{e.Time.UnixMilli(), name, levelOf(e.Kind), e.Text}); !slices.Contains(j.events, e) {
					j.add(e)
				}
			}
		}
		sources[name] = now
		known[name] = now.read
	}
	j.sources = sources
	return known
}

func levelOf(kind string) string {
	if level := levels[kind]; level != "" {
		return level
	}
	return "note"
}
