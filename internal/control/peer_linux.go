// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

var (
	// errForbidden means that the process at the other end belongs to another user.
	errForbidden = errors.New("permission denied: run as root")
	// errElsewhere means that the process at the other end does not see the device.
	errElsewhere = errors.New("permission denied: the device is not mounted in this mount namespace")
	// errStranger means that another user has taken the abstract name of a device's socket.
	errStranger = errors.New("another user's process answers in its place")
)

// admit checks that the process at the other end may control the device with the mount of that
// number: it has to be one of root or of our own user, and have the mount in its mount namespace.
// The namespace matters for root of a container with the host's network, which reaches abstract
// sockets. With mount 0 any namespace will do.
func admit(c *net.UnixConn, mount int) error {
	peer, err := peerOf(c)
	if err != nil {
		return err
	}
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return errForbidden
	}
	if mount == 0 {
		return nil
	}
	switch sees, err := host.Local.SeesMount(int(peer.Pid), mount); {
	case err != nil:
		return fmt.Errorf("%w, as far as can be seen: %w", errElsewhere, err)
	case !sees:
		return errElsewhere
	}
	return nil
}

// peerOf returns the process at the other end: the one that connected, or that listens.
func peerOf(c *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cerr error
	err = raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return cred, errors.Join(err, cerr)
}
