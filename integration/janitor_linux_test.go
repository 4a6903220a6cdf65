// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// janitor waits until the test process ends, however it ends, and undoes what it
// has left. Its arguments are the directory of the run and the test process.
//
// The end of its input is not all that it looks for: a process that was killed
// while it waits for a server which has its request keeps its files open until
// the server answers, and its state is "zombie".
var janitor = register("janitor", func(args []string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // they are for the tests
	closed := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		closed <- err
	}()
	for look := time.NewTicker(500 * time.Millisecond); ; <-look.C {
		select {
		case err := <-closed:
			if err != nil {
				return err
			}
			return undo(args[0])
		default:
		}
		pid, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		if state, _, err := stateOf(pid); err != nil || state == "Z" {
			return undo(args[0])
		}
	}
})

// startJanitor returns what makes the janitor clean up, and waits for that.
func startJanitor() (stop func() error, err error) {
	cmd := exec.Command("/proc/self/exe", root, strconv.Itoa(os.Getpid()))
	cmd.Env = append(os.Environ(), clientVariable+"="+janitor)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	janitorPID = cmd.Process.Pid
	return func() error {
		if err := in.Close(); err != nil {
			return err
		}
		return cmd.Wait()
	}, nil
}

// janitorPID is a child that is no leak. It is set by startJanitor.
var janitorPID int
