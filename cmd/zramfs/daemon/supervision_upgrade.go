// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/control"
)

// This file has the steps of a supervision that only upgrades need.

// asked begins an upgrade.
func (s *supervision) asked(now time.Time, r *upgradeRequest) {
	if !s.begun {
		r.refuse(errNotYet)
		return
	}
	if s.upgrade != nil {
		r.refuse(errUpgrading)
		return
	}
	s.upgrade = r
	s.candidate = newProcess(now)
	s.do.start(s.candidate, r.program)
}

// confirm ends an upgrade whose worker has become ready.
func (s *supervision) confirm(p *process) {
	if !p.upgraded {
		return
	}
	p.upgraded = false
	s.before.close()
	s.before = program{}
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
	r := control.UpgradeReport{Error: why.Error()}
	if s.owner != nil {
		r.WorkerPID, r.OldPID = s.owner.pid(), s.owner.pid()
	}
	s.answer(r)
}
