// SPDX-License-Identifier: Apache-2.0

package onhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// groupName is the control group of the node in which devices live, where no service manager gives
// them one.
const groupName = "zramfs"

// leaveGroup moves this process to a control group of the node of its own, and to the first group
// of each hierarchy of cgroup v1. The thread is in the node's namespaces.
func leaveGroup() error {
	mounts, err := groupMounts()
	if err != nil {
		return err
	}
	pid := []byte(strconv.Itoa(os.Getpid()))
	for _, m := range mounts {
		dir := m.Mountpoint
		if m.FSType == "cgroup2" {
			if dir, err = makeGroup(dir); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), pid, 0o600); err != nil {
			return fmt.Errorf("leave the control group of the pod: %w", err)
		}
	}
	return nil
}

// groupMounts returns a mount of each whole hierarchy of control groups.
func groupMounts() ([]*mountinfo.Info, error) {
	seen := []string{}
	return mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		is := (m.FSType == "cgroup" || m.FSType == "cgroup2") && m.Root == "/"
		key := fmt.Sprint(m.Major, ":", m.Minor)
		if !is || slices.Contains(seen, key) {
			return true, false
		}
		seen = append(seen, key)
		return false, false
	})
}

// makeGroup makes the group of devices below top, with the memory protection that the unit of
// systemd has.
func makeGroup(top string) (string, error) {
	dir := filepath.Join(top, groupName)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a control group on the node: %w", err)
	}
	// Where the memory controller is not used, there is nothing to be protected from.
	for file, value := range map[string]string{"memory.min": "max", "memory.swap.max": "0"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o600); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return "", fmt.Errorf("set up the control group of devices: %w", err)
		}
	}
	return dir, nil
}

// RemoveGroup removes the control group of devices. It stays while processes are in it.
func RemoveGroup() error {
	return Within(func() error {
		mounts, err := groupMounts()
		for _, m := range mounts {
			if m.FSType == "cgroup2" {
				if e := unix.Rmdir(filepath.Join(m.Mountpoint, groupName)); e != nil && e != unix.ENOENT && e != unix.EBUSY {
					err = errors.Join(err, e)
				}
			}
		}
		return err
	})
}
