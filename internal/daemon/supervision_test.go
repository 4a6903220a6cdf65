// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// TestSupervision plays every story of supervisionStories. Together they take every way between two
// phases.
func TestSupervision(t *testing.T) {
	type way struct {
		from phase
		by   trigger
	}
	taken := map[way]bool{}
	for name, text := range supervisionStories {
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, now: time.Unix(1000, 0)}
			s.machine = &supervision{do: s, moved: func(from phase, by trigger) { taken[way{from, by}] = true }}
			for line := range strings.Lines(text) {
				if happens, want, ok := strings.Cut(line, "|"); ok {
					s.play(strings.TrimSpace(happens), strings.TrimSpace(want))
				}
			}
		})
	}
	for from, ways := range transitions {
		for by, to := range ways {
			if !taken[way{phase(from), by}] {
				t.Errorf("no story goes from phase %d by trigger %d to phase %d", from, by, to)
			}
		}
	}
}

// Triggers that a phase does not have leave a process as it is.
func TestNoOtherTransitions(t *testing.T) {
	s := &supervision{}
	for from := range phases {
		for by := range triggers {
			p := &process{phase: phase(from)}
			want, ok := transitions[from][trigger(by)]
			if !ok {
				want = phase(from)
			}
			if moved := s.move(time.Unix(1, 0), p, trigger(by)); moved != ok || p.phase != want || ok == p.limit.IsZero() && phaseTimes[want] > 0 {
				t.Errorf("phase %d by trigger %d: %v to %d", from, by, moved, p.phase)
			}
		}
	}
	for from, ways := range transitions {
		if _, ok := ways[ends]; !ok && phase(from) != ended {
			t.Errorf("a process cannot end in phase %d", from)
		}
	}
}

// A stage plays a story. It carries out the actions of a supervision.
type stage struct {
	t       *testing.T
	machine *supervision
	now     time.Time
	all     []*process
	asked   []*upgradeRequest
	gone    bool
	image   *process // that has published its image last
	used    *process // whose image is the device's
	done    []string
	noted   []telemetry.Kind // events
	said    []string         // log lines and events
	longer  time.Duration    // that a worker may take until it serves
}

// play makes an event happen, and compares the actions with the wanted ones.
func (s *stage) play(happens, want string) {
	s.t.Helper()
	over := s.machine.over
	s.done = nil
	s.machine.step(s.now, s.event(happens))
	s.answers()
	if s.machine.over && !over {
		s.did("end%s", colon(s.machine.result))
	}
	if got := strings.Join(s.done, "; "); got != want {
		s.t.Fatalf("after %q it did %q, want %q", happens, got, want)
	}
	for _, p := range []*process{s.machine.owner, s.machine.successor, s.machine.candidate} {
		if due := s.machine.due(s.now); p != nil && !p.limit.IsZero() && (due.IsZero() || due.After(p.limit)) {
			s.t.Errorf("after %q the next look is at %v, and a process is late at %v", happens, due, p.limit)
		}
	}
	if p := s.machine.owner; p != nil && p.phase == ready && s.used != p {
		s.t.Errorf("after %q the device's image is not that of the worker that is ready", happens)
	}
	if due := s.machine.due(s.now); !s.machine.over && s.machine.owner == nil && (due.IsZero() || due.After(s.now.Add(lookPause))) {
		s.t.Errorf("after %q, without a worker, it looks again at %v", happens, due)
	} else if next := s.machine.attempts.next(s.now); !s.machine.over && s.machine.owner == nil && s.machine.successor == nil && due.After(next) {
		s.t.Errorf("after %q it looks again at %v, and may start a worker at %v", happens, due, next)
	}
}

func (s *stage) did(format string, args ...any) {
	s.done = append(s.done, fmt.Sprintf(format, args...))
}

// colon returns the text of an error behind a colon, if there is an error.
func colon(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// answers notes the answers to upgrades.
func (s *stage) answers() {
	for _, r := range s.asked {
		select {
		case a := <-r.answer:
			if a.Error != "" {
				s.did("answer: %s", a.Error)
				if r.why == nil || r.why.Error() != a.Error {
					s.t.Errorf("answered %q, and the reason is %v", a.Error, r.why)
				}
			} else {
				after := ""
				if a.WithoutService != 0 {
					after = " after " + a.WithoutService.String()
				}
				s.did("answer %s for %s%s", name(a.WorkerPID), name(a.OldPID), after)
				if s.used.pid() != a.WorkerPID {
					s.t.Errorf("the device's image is that of %s after an upgrade to %s", name(s.used.pid()), name(a.WorkerPID))
				}
			}
		default:
		}
	}
}

func name(pid int) string {
	if pid == 0 {
		return "none"
	}
	return fmt.Sprintf("p%d", pid)
}

// event makes the event of a line of a story, or lets time pass.
func (s *stage) event(happens string) event {
	switch happens {
	case "begin":
		return event{}
	case "large":
		s.longer = 30 * time.Second
		return event{}
	case "gone":
		s.gone = true
		return event{}
	case "upgrade":
		f, err := os.Open(os.DevNull)
		if err != nil {
			s.t.Fatal(err)
		}
		s.asked = append(s.asked, &upgradeRequest{program: program{file: f}, answer: make(chan control.UpgradeReport, 1)})
		return event{kind: evAsked, request: s.asked[len(s.asked)-1]}
	}
	if number := 0; strings.HasSuffix(happens, "publishes") {
		if _, err := fmt.Sscanf(happens, "p%d", &number); err != nil {
			s.t.Fatal(err)
		}
		s.image = s.all[number-1]
		return event{}
	}
	if pause, err := time.ParseDuration(happens); err == nil {
		s.now = s.now.Add(pause)
		return event{}
	}
	var number int
	var what string
	if _, err := fmt.Sscanf(happens, "p%d %s", &number, &what); err != nil || number > len(s.all) {
		s.t.Fatalf("a story with %q: %v", happens, err)
	}
	e := map[string]event{
		"prepared":  {kind: evNews, news: workerMsg{Prepared: channelVersion}},
		"alien":     {kind: evNews, news: workerMsg{Prepared: channelVersion + 1}},
		"serving":   {kind: evNews, news: workerMsg{Serving: true}},
		"asks":      {kind: evAsked},
		"ready":     {kind: evNews, news: workerMsg{Ready: &workerReport{}}},
		"leaves":    {kind: evNews, news: workerMsg{DataEnded: true}},
		"stays":     {kind: evNews, news: workerMsg{DataEnded: true}}, // for extra devices
		"fails":     {kind: evNews, news: workerMsg{Failed: &status.StartError{Message: "no room"}}},
		"dies":      {kind: evEnded, how: errors.New("killed")},
		"ends":      {kind: evEnded},
		"unstarted": {kind: evNotStarted, how: errors.New("no fork")},
	}[what]
	if e.kind == evTime {
		s.t.Fatalf("a story with %q", happens)
	}
	e.process = s.all[number-1]
	s.gone = s.gone || what == "leaves"
	if e.kind == evAsked {
		e.request = &upgradeRequest{image: &image{}, asking: e.process, answer: make(chan control.UpgradeReport, 1)}
		s.asked = append(s.asked, e.request)
	}
	return e
}

func (s *stage) start(p *process, from program) {
	s.all = append(s.all, p)
	p.cmd = &exec.Cmd{Process: &os.Process{Pid: len(s.all)}}
	of := ""
	if from.file != nil {
		of = " of new"
	}
	if from.image != nil {
		of += " with image"
	}
	s.did("start %s%s", name(p.pid()), of)
}

func (s *stage) serve(p *process, _ restarts) (longer time.Duration) {
	s.did("serve %s", name(p.pid()))
	return s.longer
}

func (s *stage) stop(p, _ *process, _ restarts) { s.did("stop %s", name(p.pid())) }
func (s *stage) kill(p *process)                { s.did("kill %s", name(p.pid())) }
func (s *stage) ready(p *process, _ workerMsg)  { s.did("first %s", name(p.pid())) }
func (s *stage) hear(*process, workerMsg)       { s.did("hear") }
func (s *stage) inUse(p *process)               { s.used = p }
func (s *stage) dataEnded() bool                { return s.gone }
func (s *stage) published(p *process) bool      { return s.image == p }

func (s *stage) note(kind telemetry.Kind, text string) {
	s.noted = append(s.noted, kind)
	s.said = append(s.said, fmt.Sprintf("%v: %s\n", kind, text))
}

// log notes the lines that stories have.
func (s *stage) log(level slog.Level, text string, args ...any) {
	s.said = append(s.said, fmt.Sprintf("%v %s %v\n", level, text, args))
	for part, word := range map[string]string{
		"another worker serves": "serves", "workers in a minute": "storm",
	} {
		if strings.Contains(text, part) {
			s.did("log %s", word)
		}
	}
	if strings.HasPrefix(text, "worker: ") || strings.HasPrefix(text, "the old worker: ") {
		s.did("log %s", text)
	}
}
