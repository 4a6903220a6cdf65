// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// word is the first argument of the process that lays a namespace out and becomes the command.
const word = "--inside"

// The files of that process, after the three standard ones.
const (
	fuseFile = 3 + iota
	doneFile
	nextFile
)

// The exit codes of a command that cannot be executed, as env(1) has them.
const (
	exitFailed        = 1
	exitNotExecutable = 126
	exitNotFound      = 127
)

// Enter lays out the mount namespace of this process and executes the command in args, if Run has
// started it for that; ours is false for the arguments of any other process. It returns only after
// a failure, with the exit code, having explained it in a line to out.
func Enter(args []string, out io.Writer) (code int, ours bool) {
	if len(args) < 3 || args[1] != word {
		return 0, false
	}
	err := enter(args[2:])
	code = exitFailed
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, errCommand) && errors.Is(err, os.ErrNotExist):
		code = exitNotFound
	case errors.Is(err, errCommand):
		code = exitNotExecutable
	}
	_, _ = fmt.Fprintf(out, "zramfs: exec: %v\n", err) // the last place to report to
	return code, true
}

var (
	// errCommand means that the command could not be executed.
	errCommand = errors.New("execute the command")
	// errServerEnded means that the process that Run is called in has ended.
	errServerEnded = errors.New("the process that serves the namespace has ended")
)

func enter(command []string) error {
	parent := os.Getppid()
	for _, fd := range []int{fuseFile, doneFile, nextFile} {
		// The command gets the three standard files alone.
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return err
		}
	}
	done, next := os.NewFile(doneFile, "done"), os.NewFile(nextFile, "next")
	if err := newDev(); err != nil {
		return err
	}
	if err := mountView(); err != nil {
		return err
	}
	// From here on the view ends with the process that serves it, also while this one waits for it.
	if err := unix.Close(fuseFile); err != nil {
		return err
	}
	if err := step(done); err != nil {
		return err
	}
	if err := coverSys(); err != nil {
		return err
	}
	if err := step(done); err != nil {
		return err
	}
	if n, err := next.Read(make([]byte, 1)); n == 0 {
		return fmt.Errorf("%w: %w", errServerEnded, err)
	}
	return execute(command, parent)
}

func step(done *os.File) error {
	_, err := done.Write([]byte{0})
	return err
}

// execute replaces this process by the command, with the programs that stand in for the machine's
// first in PATH. The command ends with the process with the id parent.
func execute(command []string, parent int) error {
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	if err := os.Setenv("PATH", binDir+string(filepath.ListSeparator)+path); err != nil {
		return err
	}
	program, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return fmt.Errorf("%w: %w", errCommand, err)
	}
	// The signal for a parent's death belongs to a thread, and the thread that executes a program
	// becomes its only one: Run has set the signal for the first thread alone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if os.Getppid() != parent {
		return errServerEnded
	}
	return fmt.Errorf("%w: %s: %w", errCommand, program, syscall.Exec(program, command, os.Environ()))
}
