// SPDX-License-Identifier: Apache-2.0

package daemon

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
	// ReadyFD is the descriptor on which a process started by Spawn announces itself: the first
	// after the standard ones.
	ReadyFD = 3
	// spawnTimeout bounds the wait for the announcement. Populating the index takes the most of it:
	// up to 128 MiB.
	spawnTimeout = 30 * time.Second
)

// Spawn starts the running program again with the arguments args, which must make it call Run with
// the descriptor ReadyFD, and waits until that process has announced itself, has failed or has
// ended, for at most 30 seconds. The process has a session of its own, no terminal, and / for its
// working directory.
//
// A failure that the process announced is a *StartError; when it ended silently the error wraps
// ErrNoAnnouncement. After an error the process is gone.
func Spawn(args []string) (*status.Report, error) { return spawn(args, spawnTimeout) }

func spawn(args []string, timeout time.Duration) (*status.Report, error) {
	cmd, r, err := begin(args)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read from
	report, err := await(r, timeout)
	if err == nil {
		return report, cmd.Process.Release()
	}
	return nil, abandon(cmd, err, timeout)
}

// begin starts the process that Spawn does, which announces itself on the file.
func begin(args []string) (*exec.Cmd, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	cmd := &exec.Cmd{
		Path:        "/proc/self/exe",
		Args:        append([]string{servingName}, args...),
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
		return nil, nil, errors.Join(fmt.Errorf("start the serving process: %w", err), r.Close())
	}
	return cmd, r, nil
}

// await reads the announcement.
func await(r *os.File, timeout time.Duration) (*status.Report, error) {
	if err := r.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, fmt.Errorf("set deadline: %w", err)
	}
	return status.ReadAnnouncement(r)
}

// abandon makes sure that a process which did not become ready is gone, and says how it ended. One
// that announced its failure, or closed its descriptor, is about to end by itself, having undone
// everything.
func abandon(cmd *exec.Cmd, cause error, timeout time.Duration) error {
	var failure *status.StartError
	patience := time.Duration(0)
	if errors.As(cause, &failure) || errors.Is(cause, status.ErrNoAnnouncement) {
		patience = timeout
	}
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it may have ended
	ended := cmd.Wait()
	kill.Stop()
	switch {
	case failure != nil:
		return failure
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return fmt.Errorf("the serving process was not ready after %s and was killed", timeout)
	case errors.Is(cause, status.ErrNoAnnouncement) && ended != nil:
		return fmt.Errorf("%w: %w", cause, ended)
	}
	return cause
}

// daemonEnvironment returns the variables that the runtime and this program use. The others may be
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
