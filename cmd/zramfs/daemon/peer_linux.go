// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

var (
	// errForbidden: the user is another one.
	errForbidden = errors.New("permission denied: run as root")
	// errElsewhere: the process at the other end does not see the device.
	errElsewhere = errors.New("permission denied: the device is not mounted in this mount namespace")
	// errStranger means that another user has taken the abstract name of a device's socket.
	errStranger = errors.New("another user's process answers in its place")
)

// admit lets in who may control the device with the mount of that number: root, or our own user,
// and a process that has that mount in its namespace. Root of a container with the host's network
// sees our sockets and has no business with our pages, let alone with what program we go on with. 0
// stands for any mount.
func admit(c *net.UnixConn, mount int) error {
	peer, err := peerOf(c)
	if err != nil {
		return err
	}
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return errForbidden
	}
	if mount != 0 && !host.Local.SeesMount(int(peer.Pid), mount) {
		return errElsewhere
	}
	return nil
}

// peerOf is the process at the other end: who connected, or who listens.
func peerOf(c *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cerr error
	err = raw.Control(func(fd uintptr) { cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return cred, errors.Join(err, cerr)
}
