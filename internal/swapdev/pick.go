// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

// ErrNotRunning means that a named device does not exist.
var ErrNotRunning = errors.New("no zramfs device")

// pick returns the named devices in the order of names, or all for no names. A name is a mount
// point or a name that list prints: a loop device or a data file. Of several devices on a DIR it
// returns all, a visible, working one first. The error wraps ErrNotRunning for the first name
// without a device.
func (s *survey) pick(names []string) ([]Device, error) {
	if len(names) == 0 {
		return s.devices, nil
	}
	var picked []Device
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		found := devicesAt(s.devices, path)
		if len(found) == 0 { // the mount table has real paths
			found = devicesAt(s.devices, realPath(path, s.mounts))
		}
		if len(found) == 0 {
			return nil, s.notRunning(name)
		}
		picked = append(picked, found...)
	}
	return picked, nil
}

// notRunning returns the error for a name without a device.
func (s *survey) notRunning(name string) error {
	var there []string
	for _, d := range s.devices {
		there = append(there, d.Word())
	}
	if len(there) == 0 {
		return fmt.Errorf("%w at %s", ErrNotRunning, term.ShellWord(name))
	}
	slices.Sort(there)
	return fmt.Errorf("%w at %s; there are: %s", ErrNotRunning, term.ShellWord(name), strings.Join(slices.Compact(there), ", "))
}

// devicesAt returns the devices that path names.
func devicesAt(all []Device, path string) []Device {
	var found []Device
	for _, d := range all {
		if path == d.Dir || path == d.Data() && d.Dir != "" || slices.Contains(LoopPaths(d.Loops), path) {
			found = append(found, d)
		}
	}
	slices.SortStableFunc(found, func(a, b Device) int { return cmp.Compare(a.rank(), b.rank()) })
	return found
}

// rank orders devices of the same DIR.
func (d Device) rank() int {
	switch {
	case !d.Elsewhere:
		return 0
	case d.Keeper != 0:
		return 1
	}
	return 2
}

// RealPath follows the symbolic links in an absolute path, as far as no FUSE file system has to be
// asked: it may be the mount point of a device that does not answer.
func RealPath(path string) string {
	mounts, err := host.Local.Mounts()
	if err != nil {
		return path
	}
	return realPath(path, mounts)
}

// realPath follows the symbolic links in an absolute path. It stops at a FUSE file system: its
// server may not answer, and the mount table has the real path of its mount point.
func realPath(path string, mounts []*mountinfo.Info) string {
	const maxLinks = 40 // as the kernel has it
	real, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		next := filepath.Join(real, rest[0])
		if slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool { return m.Mountpoint == next && strings.HasPrefix(m.FSType, "fuse") }) {
			return filepath.Join(append([]string{next}, rest[1:]...)...)
		}
		target, err := os.Readlink(next)
		if err != nil || rest[0] == "" {
			real, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return path
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest[1:]...)
	}
	return real
}
