// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// mountScript runs mount(8) with $1 as its helpers, on $2, in a mount namespace of its own, and
// unmounts what it made.
const mountScript = `set -e
mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w
mount -t overlay -o lowerdir=/sbin,upperdir=/mnt/u,workdir=/mnt/w none /sbin
ln -sf "$1" /sbin/mount.zramfs; ln -sf "$1" /sbin/mount.fuse.zramfs
for type in zramfs fuse.zramfs; do
	mount -t $type none "$2" -o rw,noexec,nosuid,nodev,nofail,_netdev,x-systemd.before=swap.target,size=16M,algorithm=lz4
	cat "$2/block/zram0/disksize" "$2/block/zram0/comp_algorithm"
	"$1" umount "$2"
done
mount -t zramfs none "$2" -o blue || echo "exit $?"
mount -t zramfs none /nonexistent/a/b -f && echo fake
`

// mount(8) finds the program by its type, as an entry of fstab does.
func TestMountHelper(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Command(t, "mount")
	cmd := exec.Command("sh", "-c", mountScript, "sh", binary(t), tempDir(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	r := runCommand(t, commandTimeout, cmd)
	lines := strings.Split(r.Stdout, "\n")
	if len(lines) != 7 || lines[0] != "16777216" || lines[2] != "16777216" || !strings.Contains(lines[1], "[lz4]") ||
		!strings.Contains(lines[3], "[lz4]") || lines[4] != "exit 1" || lines[5] != "fake" || !strings.Contains(r.Stderr, "unknown option blue") {
		t.Errorf("exit code %d: %q%s", r.Code, lines, r.Stderr)
	}
}

// Another user calls the helper without mount(8), with an environment of a serving process: the
// helper has no right that the user has not, and leaves nothing.
func TestMountHelperOfAnotherUser(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	theirs := tempDir(t)
	if err := os.Chmod(theirs, 0o777); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(theirs, "zram")
	for _, options := range []string{"size=16M", "swap,size=64M,force"} {
		cmd := command(t, "none", dir, "-o", options)
		cmd.Args[0] = "mount.zramfs"
		cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=@zramfs-test", "LISTEN_FDS=3", "ZRAMFS_IO_FLUSHER=on", "ZRAMFS_BACKING=3,4", "GODEBUG=gctrace=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		if r := runCommand(t, commandTimeout, cmd); r.Code != 32 || !strings.Contains(r.Stderr, "run as root") {
			t.Errorf("-o %s: exit code %d: %s%s", options, r.Code, r.Stdout, r.Stderr)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("-o %s: %s is left: %v", options, dir, err)
		}
	}
}
