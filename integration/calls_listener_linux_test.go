// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
)

// listenerName is what the descriptor of a filter's notices leads to.
const listenerName = "anon_inode:seccomp notify"

// takeListener takes the notices of a process that is about to make a filter. The process waits in
// its next call then, so it cannot hand the descriptor over.
func takeListener(pid int) (int, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	for end := time.Now().Add(answerTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return -1, err
		}
		for _, e := range entries {
			number, err := strconv.Atoi(e.Name())
			if target, _ := os.Readlink(filepath.Join(dir, e.Name())); err == nil && target == listenerName {
				return copyDescriptor(pid, number)
			}
		}
		if state, _, err := stateOf(pid); err != nil || state == "Z" {
			return -1, errors.New("the launcher has ended")
		}
	}
	return -1, errors.New("the launcher makes no filter")
}

func copyDescriptor(pid, number int) (int, error) {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	fd, err := unix.PidfdGetfd(process, number, 0)
	return fd, errors.Join(err, unix.Close(process))
}

// errNoFilter means that no process has the filter any longer.
var errNoFilter = errors.New("all processes with the filter have ended")

// nextCall waits for a call.
func nextCall(listener int) (n callfail.Notice, err error) {
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil {
			continue // interrupted
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return n, errNoFilter
		}
		var errno unix.Errno
		if n, errno = callfail.Receive(listener); errno == 0 {
			return n, nil
		}
		// Else the thread was killed or interrupted before the call was received (ENOENT).
	}
}

// launcherRole is that of a process which has a filter and is not the program yet.
const launcherRole = "launcher"

// roleOf says what a thread's process is: the worker, the keeper, the program of a command by its
// name, or the process that makes a call for it ("helper"). The kernel may have to read the
// arguments of a process from swap, so the supervisor looks at each thread once.
func (s *callSupervisor) roleOf(thread uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	role, ok := s.roles[thread]
	if !ok {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", thread)) // empty where it has just ended
		role = roleIn(strings.Split(string(text), "\x00"))
		s.roles[thread] = role
	}
	return role
}

// forget has roleOf look again, after the thread has executed a program.
func (s *callSupervisor) forget(thread uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.roles, thread)
}

func (s *callSupervisor) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.roles)
}

func roleIn(args []string) string {
	switch {
	case len(args) < 3:
		return "unknown"
	case args[0] == "/proc/self/exe":
		return launcherRole
	case args[1] == "--helper":
		return "helper"
	}
	return args[1]
}
