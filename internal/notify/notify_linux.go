// SPDX-License-Identifier: Apache-2.0

// Package notify tells a service manager how far a service is, as sd_notify(3) describes it.
//
// A manager that wants to know, such as systemd for a service of Type=notify, names a socket in
// NOTIFY_SOCKET. Without that variable the functions of this package do nothing. They can be called
// from any goroutine. Their errors say which socket did not take the message.
package notify

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Variable is the environment variable with the manager's socket: a path, or a name after @.
const Variable = "NOTIFY_SOCKET"

// sendTime bounds the wait for a manager that does not read.
const sendTime = 5 * time.Second

// Wanted reports whether a service manager waits for [Ready].
func Wanted() bool { return os.Getenv(Variable) != "" }

// Ready says that the service is up, that process pid is its main process from now on, and, in one
// line, its status. With a pid of 0 the service has no process: it is done. Ready returns once the
// manager has read that, so that the caller may end.
func Ready(pid int, status string) error {
	lines := []string{"READY=1", "STATUS=" + status}
	if pid != 0 {
		lines = append([]string{"MAINPID=" + strconv.Itoa(pid)}, lines...)
	}
	if err := send(lines...); err != nil {
		return err
	}
	return barrier()
}

// Stopping says that the service is being stopped.
func Stopping(status string) error { return send("STOPPING=1", "STATUS="+status) }

// Extend asks the manager to wait for that time from now on, and says how far the service is.
func Extend(wait time.Duration, status string) error {
	return send("EXTEND_TIMEOUT_USEC="+strconv.FormatInt(wait.Microseconds(), 10), "STATUS="+status)
}

// send sends lines to the manager.
func send(lines ...string) error {
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ") // a value ends with its line
	}
	return sendWith(strings.Join(lines, "\n"), nil)
}

// sendWith sends a message, with a descriptor unless f is nil. Package net would add half a
// megabyte to the server.
func sendWith(text string, f *os.File) error {
	name := os.Getenv(Variable)
	if name == "" {
		return nil
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") {
		return fmt.Errorf("%s=%s: neither a path nor a name after @: unset it", Variable, name)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }() // what was sent has arrived
		limit := unix.NsecToTimeval(sendTime.Nanoseconds())
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
	}
	if err == nil {
		var rights []byte
		if f != nil {
			rights = unix.UnixRights(int(f.Fd()))
		}
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Sendmsg(fd, []byte(text), rights, &unix.SockaddrUnix{Name: name}, 0)
		}
	}
	if err != nil {
		return fmt.Errorf("notify the service manager (%s): %w", Variable, err)
	}
	return nil
}

// barrier waits until the manager has read all messages before it: the manager closes the
// descriptor that comes with this one. A manager that does not know the message keeps it open, or
// closes it as unknown; both are no failure.
func barrier() error {
	if !Wanted() {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("notify the service manager: make pipe: %w", err)
	}
	defer func() { _ = r.Close() }() // only read from
	if err = errors.Join(sendWith("BARRIER=1", w), w.Close()); err != nil {
		return err
	}
	if err := r.SetReadDeadline(time.Now().Add(sendTime)); err != nil {
		return fmt.Errorf("wait for the service manager: %w", err)
	}
	_, _ = r.Read(make([]byte, 1)) // it ends with the last writer, or in time
	return nil
}
