// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// A supervision decides which process serves a device. It is a state machine: step takes one event
// after the other, and no step waits for anything outside. One goroutine uses it.
//
// Three processes have a role, in phases that transitions (phase.go) connects. Each may be missing:
//
//   - The owner has the order to serve. Another process gets that order only once the owner has
//     ended.
//   - The successor prepares itself while there is no owner.
//   - The candidate of an upgrade prepares itself while an owner serves. It waits, prepared, until
//     the owner has ended.
//
// Their phases follow each other so:
//
//	successor: preparing > prepared > becomes the owner, at once
//	candidate: preparing > prepared > becomes the owner, when there is none
//	owner:     ordered > serving > ready > stopping > ended
type supervision struct {
	do    actions
	moved func(from phase, by trigger) // set by tests, else nil

	owner, successor, candidate *process
	upgrade                     *upgradeRequest // under way: until its candidate, as the owner, is ready

	program  program // of the next worker
	before   program // the one before the upgrade under way, once its candidate is the owner
	restarts restarts
	attempts attempts
	begun    bool          // a worker has been ready: the device outlives the next one
	vacated  time.Time     // since when no process serves; zero while the owner does
	served   time.Duration // the last time without service
	warned   time.Time     // when the log last said that workers die in a row

	over   bool
	result error // why the device has ended, once over
}

// actions carry out the decisions of a supervision. None of them waits; their outcomes are events.
type actions interface {
	start(p *process, from program)
	serve(p *process, r restarts) (longer time.Duration) // that p may take than others, until it serves
	stop(p, next *process, r restarts)                   // next has the device then
	kill(p *process)
	hear(p *process, n workerMsg)  // workerMsg that do not matter here
	inUse(p *process)              // its image is the device's from now on
	published(p *process) bool     // whether it may have answered requests, as the last one to do so
	ready(p *process, n workerMsg) // the first time that a worker is
	dataEnded() bool               // whether the device is gone, and the directory has no further ones
	log(level slog.Level, text string, args ...any)
	note(kind telemetry.Kind, text string) // an event
}

// An eventKind says what has happened.
type eventKind int

const (
	evTime       eventKind = iota // time has passed
	evNews                        // a process has sent news
	evNotStarted                  // a process could not be made
	evEnded                       // a process has ended
	evAsked                       // an upgrade is asked for
)

// An event is what happens to a supervision.
type event struct {
	kind    eventKind
	process *process
	news    workerMsg       // evNews
	how     error           // evNotStarted, evEnded
	request *upgradeRequest // evAsked
}

const (
	// workerPatience bounds the time until a worker is prepared, until it serves, and until it is
	// ready. Populating the index takes the most of it: up to 128 MiB. An upgrade has time for a
	// worker that prepares itself, the end of another, and two waits until one serves. Where much
	// is stored a worker may take longer until it serves; see image.openTime.
	workerPatience = control.UpgradeTime / 4
	// lookPause is how often a keeper without a worker checks that the device is still mounted.
	lookPause = 200 * time.Millisecond
)

var (
	// errUpgrading means that another upgrade is under way.
	errUpgrading = errors.New("another upgrade is under way")
	// errReplaced means that the worker which has asked for another image serves no longer.
	errReplaced = errors.New("the worker that has asked was replaced")
	// errNotYet means that there is no worker to upgrade yet.
	errNotYet = errors.New("the device is not ready yet")
	// errNotServed means that a process has ended in the place of the one before.
	errNotServed = errors.New("the new program does not serve, the old one goes on")
	// errDeviceEnded means that there is nothing left to upgrade.
	errDeviceEnded = errors.New("the device has ended")
	// errChannel means that keeper and worker would not understand each other.
	errChannel = errors.New("the program has another version of the channel to its keeper")
	// errNotReady means that a process took too long.
	errNotReady = errors.New("the worker was not ready in time")
)

// step acts on an event and on the time that has passed.
func (s *supervision) step(now time.Time, e event) {
	if s.over {
		if e.kind == evAsked {
			e.request.refuse(errDeviceEnded)
		}
		return
	}
	switch e.kind {
	case evNews:
		s.heard(now, e.process, e.news)
	case evNotStarted:
		s.gone(now, e.process, e.how, false)
	case evEnded:
		s.gone(now, e.process, e.process.reason(e.how), true)
	case evAsked:
		s.asked(now, e.request)
	}
	s.passed(now)
}

// heard acts on news of a process.
func (s *supervision) heard(now time.Time, p *process, n workerMsg) {
	switch {
	case n.Failed != nil:
		p.failure = n.Failed // its end follows
	case p != s.owner && p != s.successor && p != s.candidate: // it was dismissed
	case n.Prepared != 0 && n.Prepared != channelVersion:
		p.why = fmt.Errorf("%w: %d, this keeper has %d", errChannel, n.Prepared, channelVersion)
		s.do.kill(p)
	case n.Prepared != 0 && s.move(now, p, saysPrepared):
	case n.Serving && s.move(now, p, saysServing):
		if s.begun {
			s.served = now.Sub(s.vacated)
			s.do.log(slog.LevelWarn, "another worker serves", "pid", p.pid(), "without_service", s.served.Round(time.Microsecond*100).String())
			if !p.upgraded {
				s.do.note(telemetry.Recovered, fmt.Sprintf("worker %d serves; requests waited for %v", p.pid(), s.served.Round(time.Microsecond*100)))
			}
		}
		s.vacated = time.Time{}
		s.settle(p)
	case n.Ready != nil && s.move(now, p, saysReady):
		s.do.inUse(p)
		s.confirm(p)
		if !s.begun {
			s.begun = true
			s.do.ready(p, n)
		}
	default:
		p.leaving = p.leaving || n.DataEnded
		s.do.hear(p, n)
	}
	s.handOver(now)
}

// handOver lets a prepared process serve, or prepares that.
func (s *supervision) handOver(now time.Time) {
	switch next := s.candidate; {
	case next != nil && next.phase == prepared && s.owner == nil:
		s.dismiss(&s.successor)
		s.candidate, s.before, s.program = nil, s.program, s.upgrade.program
		next.upgraded = true
		s.order(now, next)
	case next != nil && next.phase == prepared:
		if s.owner.phase == ready && !s.ends(s.owner) {
			next.follows = s.owner.pid()
			s.vacated = now
			s.move(now, s.owner, isStopped)
			s.do.stop(s.owner, next, s.restarts)
		}
	case s.owner == nil && s.successor != nil && s.successor.phase == prepared:
		next, s.successor = s.successor, nil
		s.order(now, next)
	}
}

// keeperMsg gives a process the device.
func (s *supervision) order(now time.Time, p *process) {
	s.owner = p
	s.move(now, p, isOrdered)
	p.limit = p.limit.Add(s.do.serve(p, s.restarts))
}

// dismiss ends a process that has never had the order to serve.
func (s *supervision) dismiss(p **process) {
	if *p != nil {
		s.do.kill(*p)
		*p = nil
	}
}

// gone acts on the end of a process, which may never have begun.
func (s *supervision) gone(now time.Time, p *process, why error, begun bool) {
	stopped := p.phase == stopping
	s.move(now, p, ends)
	switch p {
	case s.owner:
		s.ownerGone(now, why, stopped)
	case s.successor:
		s.successor = nil
		if !s.begun { // there will be no device
			s.finish(why)
			return
		}
		s.do.log(slog.LevelError, "the next worker: "+why.Error())
		s.lostOne(now, why, begun)
	case s.candidate:
		s.candidate = nil
		s.fail(why)
	}
	s.handOver(now)
}

// ends reports whether the owner ends by itself. While the directory has extra devices, it serves
// the attributes on.
func (s *supervision) ends(owner *process) bool { return owner.leaving && s.do.dataEnded() }

// ownerGone acts on the end of the owner, which may have had the order to stop.
func (s *supervision) ownerGone(now time.Time, why error, stopped bool) {
	p := s.owner
	s.owner = nil
	switch {
	case s.ends(p):
		if p.failure != nil {
			s.do.log(slog.LevelError, "worker: "+p.failure.Error())
		}
		s.finish(nil)
	case !s.begun:
		s.finish(why)
	case stopped && s.candidate != nil: // handOver does the rest
		if why := p.failure; why != nil {
			s.do.log(slog.LevelWarn, "the old worker: "+why.Error())
		}
	default:
		s.do.log(slog.LevelError, "the worker died: "+why.Error(), "pid", p.pid())
		s.do.note(telemetry.WorkerDied, fmt.Sprintf("worker %d: %v", p.pid(), why))
		if s.vacated.IsZero() {
			s.vacated = now
		}
		if p.upgraded && s.upgrade.image != nil && s.do.published(p) {
			s.settle(p)
		} else if p.upgraded {
			s.program, s.before = s.before, program{}
			s.fail(fmt.Errorf("%w: %w", errNotServed, why))
		}
		s.recall()
		s.lostOne(now, why, true)
	}
}

// lostOne notes that another process has to be started.
func (s *supervision) lostOne(now time.Time, why error, died bool) {
	if died {
		s.restarts.note(now, why)
	}
	s.attempts.note(now)
}

// passed acts on the time that has passed.
func (s *supervision) passed(now time.Time) {
	if p := s.owner; p != nil && p.late(now) {
		p.limit = time.Time{} // its end is the next event
		if p.phase != stopping {
			p.why = errNotReady
		}
		s.do.kill(p)
	}
	for _, p := range []*process{s.successor, s.candidate} {
		if p != nil && p.late(now) {
			s.do.kill(p)
			s.gone(now, p, errNotReady, true)
		}
	}
	if s.owner != nil || s.over {
		return
	}
	if s.begun && s.do.dataEnded() {
		s.finish(nil)
		return
	}
	s.warn(now)
	if s.successor == nil && !now.Before(s.attempts.next(now)) {
		s.successor = newProcess(now)
		s.do.start(s.successor, s.program)
	}
}

// warn says, once a minute, that workers die in a row.
func (s *supervision) warn(now time.Time) {
	n := s.attempts.recent(now)
	if n < manyAttempts || now.Sub(s.warned) < attemptWindow {
		return
	}
	s.warned = now
	s.do.log(slog.LevelError, fmt.Sprintf("%d workers in a minute died or could not be started: what is stored is kept, its users wait, another "+
		"is tried every %v at least", n, maxPause), "last", s.restarts.LastExit)
}

// due returns when the next step is due without an event; zero for never.
func (s *supervision) due(now time.Time) (at time.Time) {
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, p := range []*process{s.owner, s.successor, s.candidate} {
		if p != nil {
			earlier(p.limit)
		}
	}
	if s.owner == nil {
		earlier(now.Add(lookPause))
		if s.successor == nil {
			earlier(s.attempts.next(now))
		}
	}
	return at
}

// finish ends the supervision: the device is gone, or no worker can serve it again.
func (s *supervision) finish(why error) {
	s.dismiss(&s.successor)
	s.fail(errDeviceEnded)
	s.over, s.result = true, why
}
