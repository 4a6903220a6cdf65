// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// fstabScript has mount(8) turn on what the fstab $3 asks for at $2, with $1 as its helper. A
// second time there is nothing to do.
const fstabScript = `set -e
mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w
mount -t overlay -o lowerdir=/sbin,upperdir=/mnt/u,workdir=/mnt/w none /sbin
ln -sf "$1" /sbin/mount.fuse.zramfs
for time in first second; do
	mount -a -T "$3"; grep -c "^/dev/loop.*[[:space:]]90$" /proc/swaps
done
findmnt -n -o FSTYPE "$2"
"$1" down --quiet "$2"
grep -c loop /proc/swaps || true
`

// A line of fstab turns swap on.
func TestSwapFstab(t *testing.T) {
	dir := swapDir(t)
	require.Command(t, "findmnt")
	fstab := filepath.Join(tempDir(t), "fstab")
	line := "zram0 " + dir + " fuse.zramfs size=64M,algorithm=lz4,swap,priority=90,nofail,x-systemd.before=swap.target 0 0\n"
	if err := os.WriteFile(fstab, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", fstabScript, "sh", binary(t), dir, fstab)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if r := runCommand(t, commandTimeout, cmd); r.Code != 0 || r.Stdout != "1\n1\nfuse.zramfs\n0\n" {
		t.Errorf("exit code %d: %q\n%s", r.Code, r.Stdout, r.Stderr)
	}
}
