// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
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
func serverProcesses() []host.Process {
	return slices.DeleteFunc(host.Local.ProcessesNamed(daemon.ProcessName), func(p host.Process) bool {
		return !slices.Contains(host.Local.Arguments(p.PID), "mount")
	})
}

// servers are the processes of one device; a PID of 0 means that there is none, or that it was not
// found.
type servers struct{ keeper, worker host.Process }

// findServers returns the processes of the device with that connection of its attributes or data,
// with that keeper, or on dir, using the first of these that is known.
func findServers(connection, keeper int, dir string) servers {
	all := serverProcesses()
	mine := func(p host.Process) bool { return host.Local.HoldsFUSE(p.PID, connection) }
	if !slices.ContainsFunc(all, mine) {
		mine = func(p host.Process) bool { return keeper != 0 && (p.PID == keeper || p.Parent == keeper) }
	}
	if keeper == 0 && !slices.ContainsFunc(all, mine) {
		mine = func(p host.Process) bool { return dir != "" && serverDir(p.PID) == dir }
	}
	var s servers
	for _, p := range all {
		switch {
		case !mine(p):
		case slices.Contains(host.Local.Arguments(p.PID), "--"+flagWork):
			s.worker = p
		default:
			s.keeper = p
		}
	}
	return s
}

// silent returns the process to blame for a device that does not answer: a stopped one, else the
// worker.
func (s servers) silent() host.Process {
	if s.keeper.Stopped() && !s.worker.Stopped() || s.worker.PID == 0 {
		return s.keeper
	}
	return s.worker
}

// A silence is the error of a device that does not answer. It wraps aside.ErrNoAnswer.
type silence struct {
	servers
	dir string
}

// Error implements error.
func (s *silence) Error() string {
	return fmt.Sprintf("%s: %s: %s", s.dir, s.what(), s.fix())
}

// Unwrap returns aside.ErrNoAnswer.
func (s *silence) Unwrap() error { return aside.ErrNoAnswer }

// name is the silent process's name in messages.
func (s *silence) name() string {
	if p := s.silent(); p.PID != 0 {
		return fmt.Sprintf("zramfs (PID %d)", p.PID)
	}
	return "zramfs"
}

func (s *silence) what() string {
	p := s.silent()
	if p.PID == 0 {
		return fmt.Sprintf("zramfs has not answered for %.0f s", aside.AnswerTime.Seconds())
	}
	return fmt.Sprintf("PID %d has not answered for %.0f s (%s)", p.PID, aside.AnswerTime.Seconds(), stateWords(p))
}

func (s *silence) fix() string {
	if p := s.silent(); p.Stopped() {
		return fmt.Sprintf("kill -CONT %d, or see dmesg", p.PID)
	}
	return "see dmesg, and docs/safety.md about a device that hangs"
}

// withoutWorker reports whether the keeper runs without a worker: then no request has been read
// that could be answered later.
func (s servers) withoutWorker() bool {
	return s.keeper.PID != 0 && !s.keeper.Stopped() && s.worker.PID == 0
}
