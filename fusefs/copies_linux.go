// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// OnlyCopied reports whether the data file can be reached by copies of its mount alone: the mount
// itself is gone, and not because the data file was to be hidden.
func (s *Session) OnlyCopied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pin != nil {
		return false
	}
	var gone bool
	err := s.in.call(func() error {
		top, err := topMount(s.data.dir)
		gone = top == nil || top.FSType != s.data.typ || top.Minor != s.data.number
		return err
	})
	return err == nil && gone
}

// EndCopies ends the connections of a device whose mounts are gone, where copies of them keep it:
// each new mount namespace, such as that of a container or of a confined service, has a copy of
// every mount, and a private one stays when the original goes. Users of a copy get an error.
// Attributes that no process has a copy of stay readable where they are open. EndCopies reports
// whether there was a connection to end. It fails with ErrInUse while the data file is open, and
// needs CAP_SYS_ADMIN in the first user namespace.
func (s *Session) EndCopies() (ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.OpenCount(); n > 0 {
		return false, fmt.Errorf("%s: %w, %d open handles on dev/zram0 of a copy", s.dir, ErrInUse, n)
	}
	connections := map[int]*os.File{s.data.number: s.files.Data}
	if copied(s.attributes.number) {
		connections[s.attributes.number] = s.files.Attributes
	}
	if ended, err = abortConnections(connections); err != nil {
		err = fmt.Errorf("end the copies of %s: %w", s.dir, err)
	}
	return ended, err
}

// copied reports whether a process that can be seen has a mount of this number.
func copied(number int) bool {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false
	}
	seen := map[string]bool{}
	for _, process := range processes {
		namespace, err := os.Readlink(process + "/ns/mnt")
		if err != nil || seen[namespace] {
			continue // an error: the process has ended
		}
		seen[namespace] = true
		if hasMount(process+"/mountinfo", number) {
			return true
		}
	}
	return false
}

// hasMount reports whether a mount table has a mount of this number.
func hasMount(table string, number int) bool {
	f, err := os.Open(table)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // was only read
	found, err := mountinfo.GetMountsFromReader(f, func(m *mountinfo.Info) (skip, stop bool) {
		is := m.Major == 0 && m.Minor == number
		return !is, is
	})
	return err == nil && len(found) > 0
}

// abortConnections ends connections, whose devices it takes by their numbers. The kernel's control
// files for that lie in a file system that need not be mounted anywhere
// (Documentation/filesystems/fuse.rst).
//
// The kernel gives the number of a connection that has ended to the next one. An open control file
// stays with its connection, though; so that is the device's where the device has not ended after
// the file was opened.
func abortConnections(devices map[int]*os.File) (aborted bool, err error) {
	context, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unix.Close(context)) }()
	if err := unix.FsconfigCreate(context); err != nil {
		return false, err
	}
	root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unix.Close(root)) }()
	for number, device := range devices {
		fd, err := unix.Openat(root, strconv.Itoa(number)+"/abort", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // it has ended
		}
		if err != nil {
			return aborted, err
		}
		if events, polled := poll(device); polled == nil && events&(unix.POLLERR|unix.POLLNVAL) == 0 {
			_, err = unix.Write(fd, []byte("1"))
			aborted = aborted || err == nil
		}
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return aborted, err
		}
	}
	return aborted, nil
}
