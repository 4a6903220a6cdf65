// SPDX-License-Identifier: Apache-2.0

package require

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// unprivileged is the user and group that root becomes.
	unprivileged = 65534
	// mountTimeout bounds a trial mount: nothing answers its requests, so a reader of it would wait
	// for ever.
	mountTimeout = 10 * time.Second
	// mountScript makes a FUSE mount on $1 that dies with its namespace. It opens the device inside
	// the namespace because the kernel refuses a mount whose descriptor belongs to another user
	// namespace (fuse_get_tree in fs/fuse/inode.c).
	mountScript = `exec 3<>/dev/fuse && exec mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 zramfs-require "$1"`
)

func tryFUSE() *unmet {
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &unmet{fmt.Errorf("open /dev/fuse: %w", err), "modprobe fuse; chmod 0666 /dev/fuse"}
	}
	if err := unix.Close(device); err != nil {
		return &unmet{fmt.Errorf("close /dev/fuse: %w", err), "modprobe fuse"}
	}
	if os.Geteuid() != 0 {
		return nil
	}
	// Unshareflags, not Cloneflags: the former also makes the mounts private, so that ours stays in
	// the namespace.
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := tryMount(attr); err != nil {
		return &unmet{err, "run it with CAP_SYS_ADMIN (in a container: --privileged --device /dev/fuse)"}
	}
	return nil
}

func tryUserNS() *unmet {
	if err := tryMount(userNamespace()); err != nil {
		return &unmet{err, "chmod 0666 /dev/fuse; sysctl -w user.max_user_namespaces=10000" +
			" (Debian: kernel.unprivileged_userns_clone=1; Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)"}
	}
	return nil
}

// userNamespace returns the attributes of a process that is root in a user and mount namespace of
// its own, without privilege outside.
func userNamespace() *syscall.SysProcAttr {
	uid, gid := os.Geteuid(), os.Getegid()
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
	if uid == 0 {
		uid, gid = unprivileged, unprivileged
		// Root's own user does not exist in the namespace, so the process becomes the user that
		// does and gives up root's groups.
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: 0, Gid: 0}
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	return attr
}

// tryMount runs mountScript in a process with these attributes. It mounts on a directory that every
// user may enter; only the namespace sees it covered.
func tryMount(attr *syscall.SysProcAttr) error {
	ctx, cancel := context.WithTimeout(context.Background(), mountTimeout)
	defer cancel()
	mount := exec.CommandContext(ctx, "sh", "-c", mountScript, "sh", "/tmp")
	mount.Dir = "/"
	mount.SysProcAttr = attr
	if out, err := mount.CombinedOutput(); err != nil {
		return fmt.Errorf("mount fuse in a new namespace: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// MountNS returns the attributes of a process with a mount namespace of its own.
func MountNS(t testing.TB) *syscall.SysProcAttr {
	t.Helper()
	if os.Geteuid() != 0 {
		return UserNS(t)
	}
	FUSE(t)
	return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}
