// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

// rootDir is root's directory for sockets.
const rootDir = "/run/zramfs/control"

// socketDirs returns the directories for sockets, the best first.
func socketDirs() []string {
	dirs := []string{rootDir}
	if uid, ok := host.Local.OuterUser(); ok && uid != 0 {
		dirs = append(dirs, fmt.Sprintf("/run/user/%d/zramfs", uid))
	}
	return dirs
}

// socketName names the keeper's socket of the device at dir. The number of its mount, 0 where none
// of ours is mounted, tells it from devices on the same dir that are in other mount namespaces or
// unmounted lazily (umount -l). The hash keeps the path of the socket below 108 bytes (unix(7)).
func socketName(dir string, mount int) string {
	hash := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("%x-%d", hash[:8], mount)
}

// importName names the worker's socket. connection is the number of the data file's FUSE
// connection, which lives as long as the data file, also when its mount is hidden.
func importName(dir string, connection int) string { return socketName(dir, connection) + "-import" }

// abstractName is the part of the name of an abstract socket that other users know. They cannot
// guess what follows, and so not take the name first.
func abstractName(name string) string { return "@zramfs/" + name + "." }

// unixSockets lists the sockets of the network namespace.
const unixSockets = "/proc/net/unix"

// listening are the flags of a socket there that takes connections.
const listening = "00010000"

// abstractAddresses returns the addresses that the socket of a name may have. Other users may have
// made some of them.
func abstractAddresses(name string) (all []*net.UnixAddr, err error) {
	text, err := os.ReadFile(unixSockets)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 8 && fields[3] == listening && strings.HasPrefix(fields[7], abstractName(name)) {
			all = append(all, &net.UnixAddr{Net: "unix", Name: fields[7]})
		}
	}
	if len(all) == 0 {
		return nil, errNoSocket
	}
	return all, nil
}

// errNoSocket means that no process listens under the name of a socket.
var errNoSocket = errors.New("no socket has its name")

// A socket takes connections of commands.
type socket struct {
	*net.UnixListener
	path  string // empty for an abstract one
	inode fs.FileInfo
}

// listenAt makes the socket of that name in the first directory where that is possible, else an
// abstract one, which other users can reach. unguarded says why there is no directory.
func listenAt(dirs []string, name string) (s *socket, unguarded, err error) {
	var all []error
	for _, dir := range dirs {
		s, err := listenIn(dir, name)
		if err == nil {
			return s, nil, nil
		}
		all = append(all, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: abstractName(name) + rand.Text()})
	if err != nil {
		return nil, nil, errors.Join(append(all, err)...)
	}
	return &socket{UnixListener: l}, errors.Join(all...), nil
}

// makeTries bounds the attempts to make a socket in a directory that another process removes with
// the last socket in it.
const makeTries = 5

func listenIn(dir, name string) (s *socket, err error) {
	for range makeTries {
		if err = makeDir(dir); err != nil {
			return nil, err
		}
		if s, err = makeSocket(dir, name); !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, err
}

// makeDir makes a directory that no other user can enter, or checks that dir is one.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "look at", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o077 != 0 || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a directory that user %d alone may enter", dir, os.Geteuid())
	}
	return nil
}

// makeSocket makes a socket that takes connections as soon as it has its name. It replaces a socket
// that a dead process has left under the name.
func makeSocket(dir, name string) (*socket, error) {
	for try := 0; ; try++ {
		begun := filepath.Join(dir, fmt.Sprintf(".%d-%d", os.Getpid(), try))
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: begun})
		if errors.Is(err, unix.EADDRINUSE) && try < makeTries { // a process of another PID namespace
			continue
		}
		if err != nil {
			return nil, err
		}
		l.SetUnlinkOnClose(false)
		s := &socket{UnixListener: l, path: filepath.Join(dir, name)}
		if s.inode, err = os.Lstat(begun); err == nil {
			err = os.Rename(begun, s.path)
		}
		if err != nil {
			return nil, errors.Join(err, l.Close(), os.Remove(begun))
		}
		return s, nil
	}
}

// Close closes the socket and removes its name, unless another socket has taken it, and the
// directories with the last name.
func (s *socket) Close() error {
	if s.path != "" {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.inode) {
			_ = os.Remove(s.path) // a name that stays is replaced or swept later
		}
		removeDir(filepath.Dir(s.path))
	}
	return s.UnixListener.Close()
}

// removeDir removes the empty directories that makeDir has made.
func removeDir(dir string) {
	_ = os.Remove(dir)
	if dir == rootDir {
		_ = os.Remove(filepath.Dir(dir))
	}
}

// sweepSockets removes the names of sockets that killed processes have left.
func sweepSockets(dirs []string) {
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) == 0 {
			continue
		}
		for _, name := range names {
			c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: name})
			if err == nil {
				_ = c.Close() // it lives
			} else if errors.Is(err, unix.ECONNREFUSED) {
				_ = os.Remove(name)
			}
		}
		removeDir(dir)
	}
}

// dial connects to the keeper or worker behind a socket. Its process must be one of root or of our
// own user.
func dial(dirs []string, name string) (*net.UnixConn, error) {
	forbidden := false
	var below error // of the last directory where the name is
	for _, dir := range dirs {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, name)})
		if err == nil {
			return trusted(c)
		}
		forbidden = forbidden || errors.Is(err, fs.ErrPermission)
		if !errors.Is(err, fs.ErrNotExist) {
			below = err
		}
	}
	all, first := abstractAddresses(name)
	for _, at := range all {
		c, err := net.DialUnix("unix", nil, at)
		if err == nil {
			c, err = trusted(c)
		}
		if err == nil {
			return c, nil
		}
		first = cmp.Or(first, err)
	}
	err := errors.Join(below, first)
	if forbidden && !errors.Is(err, errStranger) {
		return nil, errForbidden
	}
	return nil, err
}

// trusted returns c if the other end is a process of root or of our own user, else closes it.
func trusted(c *net.UnixConn) (*net.UnixConn, error) {
	peer, err := peerOf(c)
	if err == nil && peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		err = errStranger
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
