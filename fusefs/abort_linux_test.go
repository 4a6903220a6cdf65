// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process unmounts, which looks into the attributes, and no server is left that could answer.
// Only the end of the connections helps then, so Abort does not wait.
func TestAbortFreesWhoUnmounts(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	if s := d.ask(commandAbandon); s.Error != "" {
		t.Error(s.Error)
	}
}

// abandon stops the server, and unmounts as if the names were so old that the kernel
// asks for them again.
func abandon(d served) error {
	d.server.Stop()
	attributes := d.session.files.Attributes
	if err := expire(int(attributes.Fd()), rootNode, "dev"); err != nil {
		return err
	}
	unmounted, aborted := make(chan error, 1), make(chan error, 1)
	go func() { unmounted <- d.session.Unmount() }()
	asked := []unix.PollFd{{Fd: int32(attributes.Fd()), Events: unix.POLLIN}}
	for n := 0; n == 0; { // until the kernel has asked: from now on it waits
		var err error
		if n, err = unix.Poll(asked, -1); err != nil && err != unix.EINTR {
			return err
		}
	}
	go func() { aborted <- d.session.Abort() }()
	select {
	case err := <-aborted:
		return errors.Join(err, ignored(<-unmounted), d.session.TakeAway())
	case <-time.After(patience / 2):
		err := errors.Join(errors.New("ending the connections waits for an unmount"), attributes.Close())
		return errors.Join(err, ignored(<-unmounted), ignored(<-aborted), d.session.TakeAway())
	}
}

func ignored(error) error { return nil }

// expire makes the kernel ask for a name the next time it needs it, as after a day.
func expire(device int, parent uint64, name string) error {
	const code, size, expireOnly = 3, 16, 1 // FUSE_NOTIFY_INVAL_ENTRY, struct fuse_notify_inval_entry_out
	m := make([]byte, outHeaderSize+size, outHeaderSize+size+len(name)+1)
	binary.LittleEndian.PutUint32(m[4:], code)
	binary.LittleEndian.PutUint64(m[outHeaderSize:], parent)
	binary.LittleEndian.PutUint32(m[outHeaderSize+8:], uint32(len(name)))
	binary.LittleEndian.PutUint32(m[outHeaderSize+12:], expireOnly)
	m = append(append(m, name...), 0)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	if _, err := unix.Write(device, m); err != nil {
		return fmt.Errorf("expire %s: %w", name, err)
	}
	return nil
}
