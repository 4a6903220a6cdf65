// SPDX-License-Identifier: Apache-2.0

package zramview

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/swapdev"
)

// signalled is added to a signal's number for the exit code of a command that the signal ended, as
// shells have it.
const signalled = 128

// ErrNotRoot means that the caller may not make mounts.
var ErrNotRoot = errors.New("permission denied: run as root, it makes mounts in a namespace of its own")

// Run runs a command with the device at hand and returns the command's exit code, or 128 and the
// number of the signal that ended it; 127 for a command that does not exist, 126 for one that
// cannot be executed, as env(1) has it. Signals to this process are passed on; those that a
// terminal sends reach the command by themselves. Warnings about what stays behind go to warn.
func Run(d swapdev.Device, command []string, warn io.Writer) (int, error) {
	if os.Geteuid() != 0 {
		return 0, ErrNotRoot
	}
	t, err := newTable(d)
	if err != nil {
		return 0, err
	}
	code, err := t.run(command)
	return code, errors.Join(err, t.close(warn))
}

// run starts the process of the command, serves the directories to it, and waits for its end.
func (t *table) run(command []string) (int, error) {
	// The kernel kills the command when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/fuse: %w", err)
	}
	steps, err := newSteps()
	if err != nil {
		return 0, errors.Join(err, unix.Close(fuse))
	}
	defer steps.close()
	theirs := os.NewFile(uintptr(fuse), "/dev/fuse")
	cmd := insideCommand(command, theirs, steps)
	signals := make(chan os.Signal, 16)
	catch(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, errors.Join(fmt.Errorf("make a mount namespace: %w", err), theirs.Close())
	}
	steps.started()
	go passOn(signals, cmd.Process)
	if steps.wait() { // the file system is mounted, and unanswered so far
		if err := t.serve(theirs); err != nil {
			_ = cmd.Process.Kill() // it waits for answers
			return 0, errors.Join(err, cmd.Wait())
		}
		if err := t.furnish(cmd.Process.Pid, steps); err != nil {
			_ = cmd.Process.Kill() // it waits for the last step
			_ = cmd.Wait()         // was killed
			return 0, err
		}
	}
	return exitCode(cmd.Wait())
}

// insideCommand prepares this program as the first one in a new mount namespace; see [Enter].
func insideCommand(command []string, fuse *os.File, steps *steps) *exec.Cmd {
	return &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{"zramfs", word}, command...),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		ExtraFiles:  []*os.File{fuse, steps.done.theirs, steps.next.theirs},
		SysProcAttr: &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL},
	}
}

// furnish makes the device nodes once the namespace is laid out, and lets the command begin.
func (t *table) furnish(pid int, steps *steps) error {
	if !steps.wait() {
		return nil // it has said what failed
	}
	dev, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root/dev", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the namespace's /dev: %w", err)
	}
	if err := t.placeNodes(os.NewFile(uintptr(dev), "/dev")); err != nil {
		return err
	}
	return steps.proceed()
}

func exitCode(err error) (int, error) {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &ended):
		return 0, err
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal()), nil
	}
	return ended.ExitCode(), nil
}

// catch has those signals delivered that end a process and that the caller does not ignore: a
// command inherits what is ignored.
func catch(signals chan<- os.Signal) {
	for _, s := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
}

// passOn sends signals on to the command. The terminal of a foreground process has sent SIGINT and
// SIGQUIT to the command too.
func passOn(signals <-chan os.Signal, command *os.Process) {
	for s := range signals {
		if (s == unix.SIGINT || s == unix.SIGQUIT) && inForeground() {
			continue
		}
		_ = command.Signal(s) // it may have ended
	}
}

// inForeground reports whether this process group is the foreground one of its terminal.
func inForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(tty) }() // read only
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
