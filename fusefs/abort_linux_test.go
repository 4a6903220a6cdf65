// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
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

// Attributes that were ended by force, and that the kernel would have to ask for again, are removed
// with the data file below them.
func TestUnmountBelowDeadAttributes(t *testing.T) {
	require.Root(t)
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	if s := d.ask(commandForce); s.Error != "" {
		t.Error(s.Error)
	}
	if top, err := topMount(d.dir); err != nil || top != nil {
		t.Errorf("left: %+v, %v", top, err)
	}
}

// force does what umount -f does a day after the kernel has asked for attributes, and unmounts.
func force(d served) error {
	var m [outHeaderSize + invalidateSize]byte
	binary.LittleEndian.PutUint32(m[:], uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], codeInvalidateInode)
	binary.LittleEndian.PutUint64(m[outHeaderSize:], rootNode)
	binary.LittleEndian.PutUint64(m[outHeaderSize+8:], math.MaxUint64)
	if _, err := unix.Write(int(d.session.files.Attributes.Fd()), m[:]); err != nil {
		return err
	}
	if err := unix.Unmount(d.session.dir, unix.MNT_FORCE); err != unix.EBUSY {
		return fmt.Errorf("by force: %w", err)
	}
	<-d.server.AttributesEnded()
	return errors.Join(d.session.Unmount(), d.session.TakeAway()) // or the device would not end
}

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
