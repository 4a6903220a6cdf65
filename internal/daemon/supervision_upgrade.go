// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"time"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// This file has the steps of a supervision that only upgrades need.

// asked begins an upgrade.
func (s *supervision) asked(now time.Time, r *upgradeRequest) {
	if !s.begun {
		r.refuse(errNotYet)
		return
	}
	if r.image != nil && r.asking != s.owner {
		r.refuse(errReplaced)
		return
	}
	if s.upgrade != nil {
		r.refuse(errUpgrading)
		return
	}
	if err := s.complete(r); err != nil {
		r.refuse(err)
		return
	}
	s.upgrade = r
	s.candidate = newProcess(now)
	s.do.start(s.candidate, r.program)
}

// complete gives a request what it leaves as it is: the image or the program.
func (s *supervision) complete(r *upgradeRequest) (err error) {
	if r.image == nil {
		r.program.image = s.program.image
		return nil
	}
	if r.program, err = s.program.again(); err == nil {
		r.program.image = r.image
	}
	return err
}

// settle ends an upgrade to another image once that is served: requests change it from now on, so
// that a worker which dies before it is ready has a successor with the same one. A worker publishes
// the image in the memory of requests before its first answer, and says that it serves after it:
// should it die between the two, what it has published decides.
func (s *supervision) settle(p *process) {
	if p.upgraded && s.upgrade.image != nil {
		s.do.inUse(p)
		s.confirm(p)
	}
}

// recall ends an upgrade to another image whose worker has not the device yet, since the worker
// that asked for it has died: its successor lets programs open the data file, and asks again if
// none has opened it.
func (s *supervision) recall() {
	if s.upgrade != nil && s.upgrade.image != nil {
		s.fail(errReplaced)
	}
}

// confirm ends an upgrade whose worker has become ready, or has another image and serves.
func (s *supervision) confirm(p *process) {
	if !p.upgraded {
		return
	}
	p.upgraded = false
	if s.upgrade.image != nil { // the same file: it stays in memory
		s.program.held, s.before.held = s.before.held, nil
	}
	s.before.close()
	s.before = program{}
	s.do.note(telemetry.Upgraded, fmt.Sprintf("worker %d serves in place of %d; requests waited for %v", p.pid(), p.follows,
		s.served.Round(time.Microsecond*100)))
	s.answer(control.UpgradeReport{WorkerPID: p.pid(), OldPID: p.follows, WithoutService: s.served})
}

// answer tells the command how its upgrade went.
func (s *supervision) answer(r control.UpgradeReport) {
	s.upgrade.answer <- r
	s.upgrade = nil
}

// fail ends the upgrade under way, if there is one: the old program goes on.
func (s *supervision) fail(why error) {
	if s.upgrade == nil {
		return
	}
	s.dismiss(&s.candidate)
	s.upgrade.program.close()
	s.upgrade.why = why
	r := control.UpgradeReport{Error: why.Error()}
	if s.owner != nil {
		r.WorkerPID, r.OldPID = s.owner.pid(), s.owner.pid()
	}
	s.do.note(telemetry.UpgradeFailed, r.Error)
	s.answer(r)
}
