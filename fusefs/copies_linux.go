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
	top, err := topMount(s.data.dir)
	return err == nil && (top == nil || top.FSType != s.data.typ || top.Minor != s.data.number)
}

// EndCopies ends the connections of a device whose mounts are gone, where copies of them keep it:
// each new mount namespace, such as that of a container or of a confined service, has a copy of
// every mount, and a private one stays when the original goes. Users of a copy get an error.
// Attributes that no process has a copy of stay readable where they are open. EndCopies fails with
// ErrInUse while the data file is open, and needs CAP_SYS_ADMIN in the first user namespace.
func (s *Session) EndCopies() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.OpenCount(); n > 0 {
		return fmt.Errorf("%s: %w, %d open handles on dev/zram0 of a copy", s.dir, ErrInUse, n)
	}
	numbers := []int{s.data.number}
	if copied(s.attributes.number) {
		numbers = append(numbers, s.attributes.number)
	}
	if err := abortConnections(numbers...); err != nil {
		return fmt.Errorf("end the copies of %s: %w", s.dir, err)
	}
	return nil
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

// abortConnections ends connections by their numbers. The kernel's control files for that lie in a
// file system that need not be mounted anywhere (Documentation/filesystems/fuse.rst).
func abortConnections(numbers ...int) (err error) {
	context, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(context)) }()
	if err := unix.FsconfigCreate(context); err != nil {
		return err
	}
	root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(root)) }()
	for _, number := range numbers {
		fd, err := unix.Openat(root, strconv.Itoa(number)+"/abort", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue // it has ended
		}
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("1"))
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return err
		}
	}
	return nil
}
