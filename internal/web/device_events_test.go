// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	"github.com/zramfs/zramfs/internal/helper"
	devicejournal "github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// journaled is a device with events of its own.
type journaled struct {
	events []devicejournal.Event
	asked  int
}

func (d *journaled) note(age time.Duration, kind, text string) {
	d.events = append(d.events, devicejournal.Event{Number: uint64(len(d.events)), Time: time.Now().Add(-age), Kind: kind, Text: text})
}

// sample is what a look finds of it; restarts are those that its counters tell.
func (d *journaled) sample(restarts int) monitor.Sample {
	s := healthy()
	s.Device.Status.Restarts, s.Device.Status.EventsTotal = restarts, map[string]uint64{"warning": uint64(len(d.events))}
	return s
}

// watching returns a sampler that sees the device, with its events in a file.
func (d *journaled) watching(t *testing.T, restarts *int) *Sampler {
	t.Helper()
	s := NewSampler(chronicle.New(), monitor.Build{}, t.Logf)
	s.take = func(...string) ([]monitor.Sample, error) {
		if *restarts < 0 {
			return nil, nil
		}
		return []monitor.Sample{d.sample(*restarts)}, nil
	}
	s.read = func(string, time.Duration) ([]devicejournal.Event, error) {
		d.asked++
		return slices.Clone(d.events), nil
	}
	return s
}

func textsOf(all []event) string {
	var words []string
	for _, e := range all {
		words = append(words, e.Level+" "+e.Text)
	}
	return strings.Join(words, "; ")
}

// The journal has the device's own events in their places, each once, and after the end of the
// device, which is asked only when it has more.
func TestDeviceEvents(t *testing.T) {
	restarts := 0
	d := &journaled{}
	d.note(time.Hour, "started", "version 1")
	d.note(time.Minute, "worker_died", "worker 7: killed by signal 9")
	s := d.watching(t, &restarts)
	s.look(0)
	s.look(0)
	want := "note the monitor has begun to watch; bad worker 7: killed by signal 9; good version 1"
	if got := textsOf(s.journal.newest()); got != want || d.asked != 1 {
		t.Errorf("after %d questions: %s", d.asked, got)
	}
	d.note(time.Second, "memory_limit", "80 % of the limit")
	restarts = 1 // which the device has told itself
	s.look(0)
	want = "note the monitor has begun to watch; bad 80 % of the limit; bad worker 7: killed by signal 9; good version 1"
	if got := textsOf(s.journal.newest()); got != want || d.asked != 2 {
		t.Errorf("after %d questions: %s", d.asked, got)
	}
	restarts = -1
	s.look(0)
	if got := textsOf(s.journal.newest()); got != "note the device is no longer up; "+want {
		t.Errorf("without the device: %s", got)
	}
}

// Events that could not be read, since the keeper was stopped or the machine busy, are read later,
// and not at each look until then.
func TestEventsAreReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, j, broken := &journaled{}, journal{}, true
		d.note(time.Hour, "worker_died", "worker 7: killed by signal 9")
		read := func(string, time.Duration) ([]devicejournal.Event, error) {
			d.asked++
			if broken {
				return nil, errors.New("it does not answer")
			}
			return d.events, nil
		}
		for range 30 {
			j.take([]monitor.Sample{d.sample(1)}, read)
			time.Sleep(time.Second)
		}
		if d.asked != 1 {
			t.Errorf("asked %d times in half a minute", d.asked)
		}
		broken = false
		for range 60 {
			j.take([]monitor.Sample{d.sample(1)}, read)
			time.Sleep(time.Second)
		}
		if got := textsOf(j.newest()); got != "bad worker 7: killed by signal 9" || d.asked != 2 {
			t.Errorf("asked %d times it has %q", d.asked, got)
		}
	})
}

// All devices whose events are new have one time to answer together, and each a little: the looks
// that all requests wait for go on while keepers are stopped.
func TestTimeForEvents(t *testing.T) {
	var found []monitor.Sample
	for i := range 3 {
		s := healthy()
		s.Device.Dir, s.Device.Status.KeeperPID = fmt.Sprint("/run/", i), 7+i
		found = append(found, s)
	}
	var limits []time.Duration
	begin := time.Now()
	(&journal{}).take(found, func(_ string, limit time.Duration) ([]devicejournal.Event, error) {
		limits = append(limits, limit)
		time.Sleep(limit)
		return nil, errors.New("it does not answer")
	})
	if spent := time.Since(begin); len(limits) != 3 || limits[0] > helper.AnswerTime || limits[1] != leastRead || limits[2] != leastRead {
		t.Errorf("limits %v, in %v", limits, spent)
	}
}

// Two devices on one DIR, in two mount namespaces, have names of their own: what the second one has
// is no change of the first, look after look. Its events cannot be read here, where the first is.
func TestTwoDevicesOfOneName(t *testing.T) {
	away := healthy()
	away.Device.Elsewhere, away.Problems = true, []swapdev.Problem{{What: "it is up elsewhere"}}
	away.Device.Status = &status.Status{KeeperPID: 9, UptimeSeconds: 5, Memory: away.Device.Status.Memory}
	here, asked := healthy(), 0
	here.Device.Status.KeeperPID = 8
	s, _ := sampler(t, options{}, here, away)
	s.read = func(string, time.Duration) ([]devicejournal.Event, error) {
		asked++
		return nil, nil
	}
	for range 3 {
		s.look(0)
	}
	want := "bad degraded: it is up elsewhere; note the monitor has begun to watch; note the monitor has begun to watch"
	if got := textsOf(s.journal.newest()); got != want {
		t.Errorf("%s", got)
	}
	if names := s.chronicle.Devices(); !slices.Equal(names, []string{"/run/zram", "/run/zram (2)"}) || asked != 1 {
		t.Errorf("%q have histories, and events were read %d times", names, asked)
	}
}

// At most keptEvents are kept, the newest, each in its place.
func TestKeptEvents(t *testing.T) {
	var j journal
	for i := range 3 * keptEvents {
		j.add(event{int64(i * 7 % (3 * keptEvents)), "/run/zram", "note", "x"})
	}
	if len(j.events) != keptEvents {
		t.Errorf("%d events", len(j.events))
	}
	for i, e := range j.events {
		if e.Time != int64(3*keptEvents-1-i) {
			t.Fatalf("event %d is of %d", i, e.Time)
		}
	}
}

// A device whose DIR is no UTF-8 has a history under the name that the page knows, and each of its
// events once.
func TestNameThatIsNotUTF8(t *testing.T) {
	found := (&journaled{}).sample(0)
	found.Device.Dir, found.Device.Status.EventsTotal = "/run/\xff", map[string]uint64{"started": 1}
	s, server := sampler(t, options{loopback: true}, found)
	s.read = func(string, time.Duration) ([]devicejournal.Event, error) {
		return []devicejournal.Event{{Time: time.Unix(1, 0), Kind: "started", Text: "version 1"}}, nil
	}
	_, _, text := get(t, server.URL+"/api/now", nil)
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil || len(m.Devices) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	_, _, text = get(t, server.URL+"/api/history?device="+url.QueryEscape(m.Devices[0].Name), nil)
	var c columns
	if err := json.Unmarshal([]byte(text), &c); err != nil || len(c.Times) == 0 {
		t.Errorf("no history of %q: %v", m.Devices[0].Name, err)
	}
	if n := strings.Count(textsOf(m.Events), "version 1"); n != 1 {
		t.Errorf("%d times version 1", n)
	}
}
