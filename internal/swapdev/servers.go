// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// stateWords describes the letter of a process's state.
func stateWords(p host.Process) string {
	words := map[byte]string{'T': "stopped", 't': "stopped by a debugger", 'D': "waiting in the kernel", 'R': "running", 'S': "sleeping"}
	return strings.TrimSuffix(fmt.Sprintf("state %c, %s", p.State, words[p.State]), ", ")
}

// serverDir is the DIR of a process that keeps or serves a device: its last argument.
func serverDir(pid int) string {
	args := host.Local.Arguments(pid)
	if len(args) == 0 {
		return ""
	}
	return args[len(args)-1]
}

// serverProcesses returns the processes of this PID namespace that keep or serve a device.
func serverProcesses() []host.Process { return host.Local.ProcessesNamed(status.ServerName) }

// IsWorker reports whether a server with these arguments is a worker, and not a keeper.
func IsWorker(args []string) bool { return len(args) > 1 && args[1] == zramfsd.Worker }

// Servers are the processes of one device; a PID of 0 means that there is none, or that it was not
// found.
type Servers struct{ Keeper, Worker host.Process }

// findServers returns the processes of the device with that connection of its attributes or data,
// with that keeper, or on dir, using the first of these that is known.
func findServers(connection, keeper int, dir string) Servers {
	all := serverProcesses()
	mine := func(p host.Process) bool { return host.Local.HoldsFUSE(p.PID, connection) }
	if !slices.ContainsFunc(all, mine) {
		mine = func(p host.Process) bool { return keeper != 0 && (p.PID == keeper || p.Parent == keeper) }
	}
	if keeper == 0 && !slices.ContainsFunc(all, mine) {
		mine = func(p host.Process) bool { return dir != "" && serverDir(p.PID) == dir }
	}
	var s Servers
	for _, p := range all {
		switch {
		case !mine(p):
		case IsWorker(host.Local.Arguments(p.PID)):
			s.Worker = p
		default:
			s.Keeper = p
		}
	}
	return s
}

// silent returns the process to blame for a device that does not answer: a stopped one, else the
// worker.
func (s Servers) silent() host.Process {
	if s.Keeper.Stopped() && !s.Worker.Stopped() || s.Worker.PID == 0 {
		return s.Keeper
	}
	return s.Worker
}

// A Silence is the error of a device that does not answer. It wraps helper.ErrNoAnswer.
type Silence struct {
	Servers             // those of the device
	Dir          string // its name in messages
	frozen, thaw string // of host.Root.FrozenBy for the silent process
}

// silence describes the device dir, whose processes do not answer.
func silence(s Servers, dir string) *Silence {
	frozen, thaw := host.Local.FrozenBy(s.silent().PID)
	return &Silence{s, dir, frozen, thaw}
}

// Error implements error.
func (s *Silence) Error() string {
	return fmt.Sprintf("%s: %s: %s", term.ShellWord(s.Dir), s.what(), s.Fix())
}

// Unwrap returns helper.ErrNoAnswer.
func (s *Silence) Unwrap() error { return helper.ErrNoAnswer }

// Name is the silent process's name in messages.
func (s *Silence) Name() string {
	if p := s.silent(); p.PID != 0 {
		return fmt.Sprintf("zramfs (PID %d)", p.PID)
	}
	return "zramfs"
}

func (s *Silence) what() string {
	p := s.silent()
	if p.PID == 0 {
		return fmt.Sprintf("zramfs has not answered for %.0f s", helper.AnswerTime.Seconds())
	}
	state := stateWords(p)
	if s.frozen != "" {
		state = "its control group is frozen"
	}
	return fmt.Sprintf("PID %d has not answered for %.0f s (%s)", p.PID, helper.AnswerTime.Seconds(), state)
}

// Fix says what a user can do about it.
func (s *Silence) Fix() string {
	if s.frozen != "" {
		return fmt.Sprintf("echo %s > %s", s.thaw, term.ShellWord(s.frozen))
	}
	if p := s.silent(); p.Stopped() {
		return fmt.Sprintf("kill -CONT %d, or see dmesg", p.PID)
	}
	return "see dmesg, and docs/safety.md about a device that hangs"
}

// WithoutWorker reports whether the keeper runs without a worker: then no request has been read
// that could be answered later.
func (s Servers) WithoutWorker() bool {
	return s.Keeper.PID != 0 && !s.Keeper.Stopped() && s.Worker.PID == 0
}
