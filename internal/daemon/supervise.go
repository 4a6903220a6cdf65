// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// startFirst starts the first worker and waits until it is ready. Should it fail, there will be no
// device.
func (k *keeper) startFirst() (*workerReport, error) {
	go k.supervise()
	select {
	case report := <-k.first:
		return report, nil
	case err := <-k.ended:
		return nil, err
	}
}

// lastTime bounds the wait for processes that were killed at the end of the device.
const lastTime = 5 * time.Second

// supervise runs the supervision until the device has ended, and then ends the remaining processes.
func (k *keeper) supervise() {
	s := &supervision{do: k, program: program{image: k.image.Load()}}
	s.step(time.Now(), event{})
	for !s.over {
		k.await(s, s.due(time.Now()))
	}
	close(k.quiet) // an upgrade that comes now has no answer
	for end := time.Now().Add(lastTime); k.processes > 0 && time.Now().Before(end); {
		k.await(s, end)
	}
	err := s.result
	if s.begun {
		// A process may still wait for an answer of the worker, also one that unmounts.
		err = errors.Join(err, k.session.Abort(), k.session.TakeAway())
	}
	s.program.close()
	k.ended <- err
}

// await takes one event, or waits until a time; zero is for ever.
func (k *keeper) await(s *supervision, until time.Time) {
	var limit <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case e := <-k.events:
		if e.kind == evEnded || e.kind == evNotStarted {
			k.processes--
			k.spent += e.process.spent()
		}
		s.step(time.Now(), e)
	case <-limit:
		s.step(time.Now(), event{})
	}
}

// The methods below are the actions of the supervision. Long ones go on in goroutines.

func (k *keeper) start(p *process, from program) {
	k.processes++
	p.image = from.image
	files := k.session.Files()
	own, err := from.again() // the caller may close its own
	go func() {
		if err == nil {
			defer own.close() // a script is opened by its interpreter
			err = k.launch(p, own, files)
		}
		if err != nil {
			k.events <- event{kind: evNotStarted, process: p, how: err}
			return
		}
		how := p.follow(func(n workerMsg) { k.events <- event{kind: evNews, process: p, news: n} })
		k.events <- event{kind: evEnded, process: p, how: how}
	}()
}

func (k *keeper) serve(p *process, r restarts) (longer time.Duration) {
	go p.tell(keeperMsg{Serve: k.facts(p, r)}) // where that fails, the process ends
	return p.image.openTime()
}

func (k *keeper) facts(p *process, r restarts) *keeperFacts {
	facts := &keeperFacts{PID: pid(), restarts: r, CPU: k.spent, Protections: k.protections, Locks: k.locks, Group: k.group, Create: !p.image.begun.Load(),
		Image: p.image.number, Further: k.extraDevices.numbers(), Ready: k.since}
	if b := p.image.backing.Load(); b != nil {
		facts.Backing = b.path
	}
	return facts
}

// stop has next serve even if this keeper dies before it can say so. Next may not serve another
// image: an owner that was not told to stop by then serves on with its own.
func (k *keeper) stop(p, next *process, r restarts) {
	var heir *keeperFacts
	if next.image == p.image {
		heir = k.facts(next, r)
	}
	go func() {
		if heir != nil {
			next.tell(keeperMsg{Standby: heir, Follows: p.pid()})
		}
		p.tell(keeperMsg{Stop: true})
	}()
}

func (k *keeper) dataEnded() bool {
	return k.session.DataEnded() && (k.extraDevices.numbers() == 0 || k.session.AttributesEnded())
}

func (k *keeper) published(p *process) bool { return k.session.Image() == p.image.number }

func (k *keeper) kill(p *process) {
	if err := p.kill(); err != nil {
		k.logger.Warn(err.Error())
	}
}

func (k *keeper) inUse(p *process) {
	p.image.begun.Store(true)
	if p.image.superblock.Load() == nil {
		p.image.keepSuperblock(k.logger)
	}
	k.image.Store(p.image)
	k.inService.Store(p)
	go k.tellExtra(p, nil) // they may have changed since it got the order to serve
}

func (k *keeper) ready(_ *process, n workerMsg) {
	k.since = fusefs.SinceBoot()
	k.session.KeepRequests()
	k.first <- n.Ready
}

func (k *keeper) log(level slog.Level, text string, args ...any) {
	k.logger.Log(context.Background(), level, text, args...)
}

func (k *keeper) note(kind telemetry.Kind, text string) { k.session.NoteEvent(kind, text) }

// hear acts on news about the mounts, and makes the device anew.
func (k *keeper) hear(p *process, n workerMsg) {
	switch {
	case n.Hot != nil:
		go k.hot(p, *n.Hot)
	case n.Resize != nil:
		go k.resize(p, n.ResizeRequest, *n.Resize)
	case n.Noted:
		go func() {
			if err := k.session.Pin(); err != nil {
				k.logger.Warn(err.Error())
			}
		}()
	case n.DataEnded: // the worker ends with the last user of its attributes
		go k.dataGone()
	case n.AttributesEnded:
		go k.tryUnmount("the attributes were unmounted, or their connection was aborted")
	}
}
