// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
)

func playStory(t *testing.T, name string) *stage {
	t.Helper()
	s := &stage{t: t, now: time.Unix(1000, 0)}
	s.machine = &supervision{do: s}
	for line := range strings.Lines(supervisionStories[name]) {
		if happens, does, ok := strings.Cut(line, "|"); ok {
			s.play(strings.TrimSpace(happens), strings.TrimSpace(does))
		}
	}
	return s
}

// TestSupervisionNotesEvents: what happens to workers is an event, once.
func TestSupervisionNotesEvents(t *testing.T) {
	for name, want := range map[string][]telemetry.Kind{
		"the device is unmounted": nil,
		"a worker dies":           {telemetry.WorkerDied, telemetry.Recovered},
		"an upgrade":              {telemetry.Upgraded, telemetry.WorkerDied},
		"one upgrade at a time":   {telemetry.UpgradeFailed},
		"a worker dies while a candidate prepares itself": {telemetry.WorkerDied, telemetry.Recovered, telemetry.Upgraded},
	} {
		s := playStory(t, name)
		if !slices.Equal(s.noted, want) {
			t.Errorf("%s: the events are %v, want %v", name, s.noted, want)
		}
		deaths := slices.DeleteFunc(slices.Clone(want), func(k telemetry.Kind) bool { return k != telemetry.WorkerDied })
		if r := s.machine.restarts; r.Count != len(deaths) || r.Count > 0 && r.LastExit != "killed" {
			t.Errorf("%s: %d deaths are counted, the last is %q", name, r.Count, r.LastExit)
		}
	}
}

// TestLogLinesAreEvents: of what the page path reports, and not of each request that fails.
func TestLogLinesAreEvents(t *testing.T) {
	sink := &gatedSink{gate: make(chan struct{})}
	close(sink.gate)
	logs := newLogs(sink)
	var mu sync.Mutex
	noted := map[telemetry.Kind][]string{}
	logs.NoteTo(func(kind telemetry.Kind, text string) {
		mu.Lock()
		defer mu.Unlock()
		noted[kind] = append(noted[kind], text)
	})
	logs.Corrupt(42)
	logs.Filled(90)
	for range 3 {
		logs.Failed(telemetry.Write, 7, syscall.ENOSPC)
		logs.Failed(telemetry.Read, 8, syscall.EIO)
	}
	if err := logs.Close(); err != nil { // all has been written
		t.Fatal(err)
	}
	logs.NoteTo(nil)
	logs.note(telemetry.Warning, "after the end")
	mu.Lock()
	defer mu.Unlock()
	for kind, want := range map[telemetry.Kind][]string{
		telemetry.Damaged: {"page 42 is damaged: reading it ends in an I/O error"},
		telemetry.Limit:   {"90 % of the memory limit are in use"},
		telemetry.Failed:  {"write of page 7: no space left on device", "read of page 8: input/output error"},
		telemetry.Warning: nil,
	} {
		if !slices.Equal(noted[kind], want) {
			t.Errorf("%v: %q, want %q", kind, noted[kind], want)
		}
	}
}

// One kind of failure is an event a minute.
func TestFailuresAreEventsOnceAMinute(t *testing.T) {
	n := 0
	logs := &Logs{}
	logs.NoteTo(func(telemetry.Kind, string) { n++ })
	w := newLogWriter(logs)
	at := time.Unix(1000, 0)
	for i, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {time.Second, 1}, {59 * time.Second, 1}, {60 * time.Second, 2}, {61 * time.Second, 2}} {
		w.failed(failure{telemetry.Write, uint64(i), syscall.ENOSPC}, at.Add(c.after))
		if n != c.want {
			t.Errorf("after %v there are %d events, want %d", c.after, n, c.want)
		}
	}
}

// Each level of the memory limit is an event once a minute: those of a store that is full and not,
// many times a second, would push the death of a worker out of the last 128 events within seconds.
func TestLevelsAreEventsOnceAMinute(t *testing.T) {
	var told []string
	logs := &Logs{sink: &gatedSink{gate: make(chan struct{})}}
	close(logs.sink.(*gatedSink).gate)
	logs.NoteTo(func(_ telemetry.Kind, text string) { told = append(told, text[:3]) })
	w := newLogWriter(logs)
	for at := time.Duration(0); at < 2*time.Minute; at += 100 * time.Millisecond {
		w.filled(90, time.Unix(1000, 0).Add(at))
		w.filled(100, time.Unix(1000, 0).Add(at))
	}
	if want := []string{"90 ", "100", "90 ", "100"}; !slices.Equal(told, want) {
		t.Errorf("%d events, want %q: %.20q", len(told), want, told)
	}
}

// TestSupervisionSays: the log has the reason of each end and failure, and events have the same.
func TestSupervisionSays(t *testing.T) {
	for name, want := range map[string]string{
		"a worker dies": `ERROR the worker died: killed [pid 1]
worker_died: worker 1: killed
WARN another worker serves [pid 2 without_service 0s]
recovered: worker 2 serves; requests waited for 0s
`,
		"an upgrade": `WARN another worker serves [pid 2 without_service 3s]
upgraded: worker 2 serves in place of 1; requests waited for 3s
ERROR the worker died: killed [pid 2]
worker_died: worker 2: killed
`,
		"an old worker fails as it stops":               "WARN the old worker: no room []\n",
		"a worker fails after the device was unmounted": "ERROR worker: no room []\n",
		"the next worker takes too long to prepare itself": `ERROR the worker died: killed [pid 1]
worker_died: worker 1: killed
ERROR the next worker: the worker was not ready in time []
`,
		"the next worker takes too long to serve": `ERROR the worker died: killed [pid 1]
worker_died: worker 1: killed
ERROR the worker died: the worker was not ready in time [pid 2]
worker_died: worker 2: the worker was not ready in time
`,
		"the old worker takes too long to stop":     "",
		"one upgrade at a time":                     "upgrade_failed: the serving process ended before it was ready: ended by itself\n",
		"the device is unmounted during an upgrade": "upgrade_failed: the device has ended\n",
		"a worker dies that has asked for another image": `ERROR the worker died: killed [pid 1]
worker_died: worker 1: killed
upgrade_failed: the worker that has asked was replaced
`,
	} {
		s := playStory(t, name)
		if got := strings.Join(s.said, ""); got != want {
			t.Errorf("%s: it said\n%swant\n%s", name, got, want)
		}
	}
	s := playStory(t, "the log says once a minute that workers die")
	if got := strings.Join(s.said, ""); strings.Count(got, "ERROR 5 workers in a minute died or could not be started: what is stored is kept, its users wait, "+
		"another is tried every 3s at least [last the serving process ended before it was ready: killed]\n") != 1 || strings.Count(got, "workers in a minute") != 2 {
		t.Errorf("it said\n%s", got)
	}
}
