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
	"net"
	"os"
	"strconv"
	"strings"
	"time"
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

// dial connects to the manager's socket; nil without one.
func dial() (*net.UnixConn, error) {
	name := os.Getenv(Variable)
	if name == "" {
		return nil, nil
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") {
		return nil, fmt.Errorf("%s=%s: neither a path nor a name after @: unset it", Variable, name)
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		err = c.SetWriteDeadline(time.Now().Add(sendTime))
	}
	if err != nil {
		return nil, fmt.Errorf("tell the service manager (%s): %w", Variable, err)
	}
	return c, nil
}

// send sends the lines as one message.
func send(lines ...string) error {
	c, err := dial()
	if c == nil || err != nil {
		return err
	}
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ") // a value ends with its line
	}
	_, err = c.Write([]byte(strings.Join(lines, "\n")))
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("tell the service manager (%s): %w", Variable, err)
	}
	return nil
}
