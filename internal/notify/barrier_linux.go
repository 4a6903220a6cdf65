// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// barrier waits until the manager has read all messages before it: the manager closes the
// descriptor that comes with this one. A manager that does not know the message keeps it open, or
// closes it as unknown; both are no failure.
func barrier() error {
	c, err := dial()
	if c == nil || err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("tell the service manager: make pipe: %w", err), c.Close())
	}
	defer func() { _ = r.Close() }() // only read from
	if err = errors.Join(sendWith(c, "BARRIER=1", w), w.Close(), c.Close()); err != nil {
		return fmt.Errorf("tell the service manager (%s): %w", Variable, err)
	}
	if err := r.SetReadDeadline(time.Now().Add(sendTime)); err != nil {
		return fmt.Errorf("wait for the service manager: %w", err)
	}
	_, _ = r.Read(make([]byte, 1)) // it ends with the last writer, or in time
	return nil
}

// sendWith sends a message with a descriptor, which net does not do on a connected socket.
func sendWith(c *net.UnixConn, text string, f *os.File) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), []byte(text), unix.UnixRights(int(f.Fd())), nil, 0)
		return sent != unix.EAGAIN && sent != unix.EINTR
	})
	return errors.Join(err, sent)
}
