// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// keptTypes are file systems that are on no device and that no process serves.
var keptTypes = []string{"cgroup", "cgroup2", "devpts", "devtmpfs", "proc", "sysfs", "tmpfs"}

// keptBelow are the directories that a process which serves needs, apart from those of its root
// file system.
var keptBelow = []string{"/dev", "/proc", "/sys"}

// forgetMounts detaches all mounts from the thread's namespace, which must be new, but the root
// and those that a serving process needs: the process would keep them in use after others have
// unmounted them. No mount of another namespace comes to it later.
func forgetMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return err
	}
	for _, m := range mounts { // one takes those below it along, whose path may lead to a dead server
		if m.Mountpoint == "/" || isKept(m) {
			continue
		}
		if unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) != nil {
			continue // it has gone with the one above it, or a user namespace above has it locked
		}
	}
	return nil
}

func isKept(m *mountinfo.Info) bool {
	return slices.Contains(keptTypes, m.FSType) && slices.ContainsFunc(keptBelow, func(dir string) bool {
		return m.Mountpoint == dir || strings.HasPrefix(m.Mountpoint, dir+"/")
	})
}
