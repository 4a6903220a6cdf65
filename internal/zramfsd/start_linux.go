// SPDX-License-Identifier: Apache-2.0

package zramfsd

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
)

const (
	// ReadyFD is the descriptor on which a keeper announces itself: the first after the standard
	// ones.
	ReadyFD = 3
	// startTimeout bounds the wait for the announcement. Populating the index takes the most of it:
	// up to 128 MiB.
	startTimeout = 30 * time.Second
)

// ServingName is the first argument of keeper and worker. When systemd ends all processes at
// shutdown, it leaves alone those of root whose first argument begins with @. The swapoff that it
// does after that needs these two.
const ServingName = "@" + Name

// Start starts the program at a path as a keeper with these arguments, and waits until that has
// announced itself, has failed or has ended, for at most 30 seconds. The process has a session of
// its own, no terminal, and / for its working directory.
//
// A failure that the keeper announced is a *status.StartError; when it ended silently the error
// wraps status.ErrNoAnnouncement. After an error the process is gone.
func Start(program string, args []string) (*status.Report, error) {
	s, err := Begin(program, args)
	if err != nil {
		return nil, err
	}
	report, err := s.Ready()
	if err != nil {
		return nil, err
	}
	return report, s.Cmd.Process.Release()
}

// A Starting is a keeper that was started and has not announced itself. One goroutine uses it.
type Starting struct {
	Cmd          *exec.Cmd // started
	announcement *os.File
	timeout      time.Duration
}

// Begin starts the process that Start does, and does not wait. The caller calls Ready next.
func Begin(program string, args []string) (*Starting, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	cmd := &exec.Cmd{
		Path:        program,
		Args:        append([]string{ServingName}, args...),
		Env:         daemonEnvironment(os.Environ()),
		Dir:         "/",
		ExtraFiles:  []*os.File{w},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	// Descriptors that this process has inherited must not stay open as long as the device. Those
	// that are passed on are copies. Before Linux 5.11 they stay open.
	_ = unix.CloseRange(ReadyFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	err = cmd.Start()
	_ = w.Close() // the child has its own; ours would keep the reader waiting
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the serving process: %w", err), r.Close())
	}
	return &Starting{Cmd: cmd, announcement: r, timeout: startTimeout}, nil
}

// Ready waits for the announcement, as Start does.
func (s *Starting) Ready() (*status.Report, error) {
	defer func() { _ = s.announcement.Close() }() // only read from
	if err := s.announcement.SetReadDeadline(time.Now().Add(s.timeout)); err != nil {
		return nil, s.abandon(fmt.Errorf("set deadline: %w", err))
	}
	report, err := status.ReadAnnouncement(s.announcement)
	if err != nil {
		return nil, s.abandon(err)
	}
	return report, nil
}

// abandon makes sure that a process which did not become ready is gone, and returns how it ended.
// One that announced its failure, or closed its descriptor, is about to end by itself, having
// undone everything.
func (s *Starting) abandon(cause error) error {
	var failure *status.StartError
	patience := time.Duration(0)
	if errors.As(cause, &failure) || errors.Is(cause, status.ErrNoAnnouncement) {
		patience = s.timeout
	}
	kill := time.AfterFunc(patience, func() { _ = s.Cmd.Process.Kill() }) // it may have ended
	ended := s.Cmd.Wait()
	kill.Stop()
	switch {
	case failure != nil:
		return failure
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return fmt.Errorf("the serving process was not ready after %s and was killed", s.timeout)
	case errors.Is(cause, status.ErrNoAnnouncement) && ended != nil:
		return fmt.Errorf("%w: %w", cause, ended)
	}
	return cause
}

// daemonEnvironment returns the variables that the runtime and the program use. The others may be
// secrets, and would stay in memory as long as the device.
func daemonEnvironment(all []string) []string {
	kept := []string{}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == protect.FlusherVariable, name == protect.NamespaceVariable:
		case name == "PATH", name == "GODEBUG", name == "GOCOVERDIR", name == "GORACE", strings.HasPrefix(name, "ZRAMFS_"):
			kept = append(kept, v)
		}
	}
	return kept
}
