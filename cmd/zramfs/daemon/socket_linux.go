// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// Commands talk to keeper and worker over Unix sockets. Each lies in a directory that only root can
// enter, or the user who mounted in a user namespace: no other user can take its name, or fill its
// queue. Where there is no such directory the name is an abstract one (unix(7)), which any local
// user may take first: then the commands that need it fail, and the device says so beforehand.

// controlDir is root's directory.
const controlDir = "/run/zramfs/control"

// controlDirs are the directories for sockets, the best first.
func controlDirs() []string {
	dirs := []string{controlDir}
	if uid, ok := host.Local.OuterUser(); ok && uid != 0 {
		dirs = append(dirs, fmt.Sprintf("/run/user/%d/zramfs", uid))
	}
	return dirs
}

// socketName names the keeper's socket of the device at dir. Several may be on the same dir, in
// other mount namespaces or out of sight (umount -l), so the number of the mount is a part of the
// name: no other has it while this one is somewhere. It is 0 where nothing of ours is mounted. The
// hash makes the name short: a socket's path has 108 bytes at most.
func socketName(dir string, mount int) string {
	hash := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("%x-%d", hash[:8], mount)
}

// importName names the worker's socket. connection is the number of the data file's (see
// Status.Fuse): its mount may be hidden, and it lives as long as there is anything to be spoilt.
func importName(dir string, connection int) string { return socketName(dir, connection) + "-import" }

func abstractAddress(name string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: "@zramfs/" + name}
}

// A socket is one that commands connect to.
type socket struct {
	*net.UnixListener
	path  string // empty for an abstract one
	inode fs.FileInfo
}

// listenAt makes the socket of that name in the first directory where that is possible, else an
// abstract one. guarded is nil where no other user could have taken the name, else why not.
func listenAt(dirs []string, name string) (s *socket, guarded, err error) {
	var all []error
	for _, dir := range dirs {
		s, err := listenIn(dir, name)
		if err == nil {
			return s, nil, nil
		}
		all = append(all, err)
	}
	l, err := net.ListenUnix("unix", abstractAddress(name))
	if err != nil {
		return nil, nil, errors.Join(append(all, err)...)
	}
	return &socket{UnixListener: l}, errors.Join(all...), nil
}

// makeTries is how often a socket is made in a directory that another process removes, which had
// the last socket in it.
const makeTries = 5

func listenIn(dir, name string) (s *socket, err error) {
	for range makeTries {
		if err = makeControlDir(dir); err != nil {
			return nil, err
		}
		if s, err = makeSocket(dir, name); !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, err
}

// makeControlDir makes a directory that no other user can enter, or checks that it is one.
func makeControlDir(dir string) error {
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

// makeSocket makes a socket that takes connections as soon as it has its name, which a dead one may
// have.
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

// Close ends the socket and takes its name away, unless another has that by now, and the
// directories with the last name.
func (s *socket) Close() error {
	if s.path != "" {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.inode) {
			_ = os.Remove(s.path) // as below: a name that stays is replaced, or swept
		}
		removeControlDir(filepath.Dir(s.path))
	}
	return s.UnixListener.Close()
}

// removeControlDir removes what makeControlDir has made, unless there is anything in it.
func removeControlDir(dir string) {
	_ = os.Remove(dir)
	if dir == controlDir {
		_ = os.Remove(filepath.Dir(dir))
	}
}

// sweepSockets removes the names of processes that were killed.
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
		removeControlDir(dir)
	}
}

// dial connects to a keeper or worker, of root or of our own user: what is asked of it and handed
// to it is for no other.
func dial(dirs []string, name string) (*net.UnixConn, error) {
	forbidden := false
	for _, dir := range dirs {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, name)})
		if err == nil {
			return trusted(c)
		}
		forbidden = forbidden || errors.Is(err, fs.ErrPermission)
	}
	c, err := net.DialUnix("unix", nil, abstractAddress(name))
	switch {
	case err == nil:
		return trusted(c)
	case forbidden:
		return nil, errForbidden
	}
	return nil, err
}

// trusted returns a connection if its other end is a process of root or of our own user.
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
