// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"slices"
	"time"
)

// keptEvents is the number of events that are kept.
const keptEvents = 100

// An event is a change that the sampler has seen, or that a device has noted.
type event struct {
	Time   int64  `json:"time"` // in milliseconds since 1970
	Device string `json:"device"`
	Level  string `json:"level"` // good, note or bad
	Text   string `json:"text"`
}

// A journal is the last events, the newest first.
type journal struct {
	events   []event
	last     *look             // the last one without an error; nil at first
	answered map[string]view   // by name: each device of last as it last answered
	sources  map[string]source // by name: of last
}

// newest returns the events; the caller may keep them.
func (j *journal) newest() []event { return append([]event{}, j.events...) }

func (j *journal) note(at time.Time, device, level, format string, args ...any) {
	j.add(event{at.UnixMilli(), device, level, fmt.Sprintf(format, args...)})
}

// add puts an event into its place by time.
func (j *journal) add(e event) {
	place := slices.IndexFunc(j.events, func(old event) bool { return old.Time <= e.Time })
	if place < 0 {
		place = len(j.events)
	}
	if place >= keptEvents {
		return
	}
	j.events = slices.Insert(j.events, place, e)
	j.events = j.events[:min(len(j.events), keptEvents)]
}

// compare notes what has changed since the last look. The first one changes nothing but for what is
// wrong, and one that failed says nothing. Devices in known have noted themselves what their
// counters tell.
func (j *journal) compare(now *look, known map[string]bool) {
	if now.err != nil {
		return
	}
	before, answered := j.last, make(map[string]view)
	j.last = now
	defer func() { j.answered = answered }()
	for _, v := range now.views {
		old := find(before, v.Name)
		switch {
		case old == nil && before != nil && !known[v.Name]:
			j.note(now.at, v.Name, "good", "the device is up")
		case old == nil && before == nil:
			j.note(now.at, v.Name, "note", "the monitor has begun to watch")
		}
		j.problems(now.at, old, v)
		// The figures of a device that does not answer are 0: it goes on from its last answer.
		was, seen := j.answered[v.Name]
		switch {
		case v.Answered:
			if seen && !known[v.Name] {
				j.counters(now.at, was, v)
			}
			answered[v.Name] = v
		case seen:
			answered[v.Name] = was
		}
	}
	if before == nil {
		return
	}
	for _, v := range before.views {
		if find(now, v.Name) == nil {
			j.note(now.at, v.Name, "note", "the device is no longer up")
		}
	}
}

func find(l *look, name string) *view {
	if l == nil {
		return nil
	}
	for i := range l.views {
		if l.views[i].Name == name {
			return &l.views[i]
		}
	}
	return nil
}

// problems notes whether a device became degraded or healthy.
func (j *journal) problems(at time.Time, old *view, v view) {
	had := 0
	if old != nil {
		had = len(old.Problems)
	}
	switch {
	case len(v.Problems) > had:
		j.note(at, v.Name, "bad", "degraded: %s", v.Problems[len(v.Problems)-1].What)
	case had > 0 && len(v.Problems) == 0:
		j.note(at, v.Name, "good", "healthy again")
	}
}

// counters notes restarts and errors between two answers. Counters that are lower than before have
// begun anew.
func (j *journal) counters(at time.Time, old, v view) {
	if n := v.Restarts - old.Restarts; n > 0 {
		j.note(at, v.Name, "bad", "the worker died and was replaced (%d restarts in all)", v.Restarts)
	}
	for _, c := range []struct {
		what        string
		before, now uint64
	}{
		{"reads failed", old.Errors.FailedReads, v.Errors.FailedReads},
		{"writes failed: the memory limit is reached, or memory is short", old.Errors.FailedWrites, v.Errors.FailedWrites},
		{"damaged pages were read", old.Errors.ChecksumErrors, v.Errors.ChecksumErrors},
	} {
		if c.now > c.before {
			j.note(at, v.Name, "bad", "%d %s", c.now-c.before, c.what)
		}
	}
	if v.Version != old.Version && v.Version != "" && old.Version != "" {
		j.note(at, v.Name, "note", "upgraded from %s to %s", old.Version, v.Version)
	}
}
