// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
)

// A process is what the kernel says of one, without asking it (proc_pid_stat(5)).
type process struct {
	pid    int
	name   string
	state  byte // the letter
	parent int
	start  uint64 // in ticks since the machine was started: with the PID it names one process for ever
}

// readProcess describes a process; false where there is none.
func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')') // the name may hold anything
	if err != nil || begin < 0 || end < begin {
		return process{}, false
	}
	fields := strings.Fields(string(text[end+1:])) // the first is field 3
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	p := process{pid: pid, name: string(text[begin+1 : end]), state: fields[0][0]}
	p.parent, _ = strconv.Atoi(fields[1])
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err == nil
}

// stateWords is what the letter of a process's state means.
func (p process) stateWords() string {
	words := map[byte]string{'T': "stopped", 't': "stopped by a debugger", 'D': "waiting in the kernel", 'R': "running", 'S': "sleeping"}
	return strings.TrimSuffix(fmt.Sprintf("state %c, %s", p.state, words[p.state]), ", ")
}

func (p process) stopped() bool { return p.state == 'T' || p.state == 't' }

// args are the arguments that the process was started with.
func (p process) args() []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// dir is the DIR of a process that keeps or serves a device: its last argument.
func (p process) dir() string {
	args := p.args()
	if len(args) == 0 {
		return ""
	}
	return args[len(args)-1]
}

// serverProcesses returns the processes of this PID namespace that keep or serve a device.
func serverProcesses() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok && p.name == daemon.ProcessName && slices.Contains(p.args(), "mount") {
			all = append(all, p)
		}
	}
	return all
}

// serves reports whether a process holds the FUSE connection of that number, which the kernel says
// to root since Linux 6.17.
func (p process) serves(connection int) bool {
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", p.pid))
	if err != nil || connection == 0 {
		return false
	}
	want := []byte(fmt.Sprintf("\nfuse_connection:\t%d\n", connection))
	return slices.ContainsFunc(infos, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && bytes.Contains(text, want)
	})
}

// servers are the processes of one device; a PID of 0 is of one that does not exist or cannot be
// found.
type servers struct{ keeper, worker process }

// findServers returns the processes of the device whose attributes, or data, have the connection of
// that number, whose keeper is that process, or that is on dir: by what is known of these.
func findServers(connection, keeper int, dir string) servers {
	all := serverProcesses()
	mine := func(p process) bool { return p.serves(connection) }
	if !slices.ContainsFunc(all, mine) {
		mine = func(p process) bool { return keeper != 0 && (p.pid == keeper || p.parent == keeper) }
	}
	if keeper == 0 && !slices.ContainsFunc(all, mine) {
		mine = func(p process) bool { return dir != "" && p.dir() == dir }
	}
	var s servers
	for _, p := range all {
		switch {
		case !mine(p):
		case slices.Contains(p.args(), "--"+flagWork):
			s.worker = p
		default:
			s.keeper = p
		}
	}
	return s
}

// silent is the process to blame for a device that does not answer: the one that is stopped, else
// the worker.
func (s servers) silent() process {
	if s.keeper.stopped() && !s.worker.stopped() || s.worker.pid == 0 {
		return s.keeper
	}
	return s.worker
}

// A silence is a device that does not answer. It is an errNoAnswer.
type silence struct {
	servers
	dir string
}

// Error implements error.
func (s *silence) Error() string {
	return fmt.Sprintf("%s: %s: %s", s.dir, s.what(), s.fix())
}

// Unwrap makes it an errNoAnswer.
func (s *silence) Unwrap() error { return errNoAnswer }

// name is how messages call the process that is silent.
func (s *silence) name() string {
	if p := s.silent(); p.pid != 0 {
		return fmt.Sprintf("zramfs (PID %d)", p.pid)
	}
	return "zramfs"
}

func (s *silence) what() string {
	p := s.silent()
	if p.pid == 0 {
		return fmt.Sprintf("zramfs has not answered for %.0f s", answerTime.Seconds())
	}
	return fmt.Sprintf("PID %d has not answered for %.0f s (%s)", p.pid, answerTime.Seconds(), p.stateWords())
}

func (s *silence) fix() string {
	if p := s.silent(); p.stopped() {
		return fmt.Sprintf("kill -CONT %d, or see dmesg", p.pid)
	}
	return "see dmesg, and docs/safety.md about a device that hangs"
}

// withoutWorker reports whether the keeper runs and has no worker: nothing has been read that could
// be answered later.
func (s servers) withoutWorker() bool {
	return s.keeper.pid != 0 && !s.keeper.stopped() && s.worker.pid == 0
}
