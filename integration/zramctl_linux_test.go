// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// F066: zramctl of util-linux shows the device from our attribute files. It finds
// a device's attributes by its number, so ours are mounted over those of the loop
// device, in a mount namespace of their own.
func TestF066Zramctl(t *testing.T) {
	require.Command(t, "zramctl")
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "64M", "-a", "lz4")
	loop := attachments["loopsetup"](t, dir)
	writeBlocks(t, loop, 5<<20)
	const script = `set -e
mount --bind "$1/block/zram0" "/sys/devices/virtual/block/$2"
numbers=$(stat -c '%t %T' "/dev/$2")
mount -t tmpfs none /dev
mknod /dev/null c 1 3
mknod /dev/zram7 b $(printf '0x%s 0x%s' $numbers)
exec zramctl --bytes --raw --noheadings --output NAME,ALGORITHM,DISKSIZE,DATA,COMPR,TOTAL,MEM-LIMIT,MEM-USED,ZERO-PAGES /dev/zram7`
	cmd := exec.Command("sh", "-c", script, "sh", dir, filepath.Base(loop))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	r := runCommand(t, toolTimeout, cmd)
	stat := strings.Fields(attribute(t, dir, "mm_stat"))
	want := strings.Join([]string{"/dev/zram7", "lz4", strconv.Itoa(64 << 20), stat[0], stat[1], stat[2], stat[3], stat[4], stat[5]}, " ")
	if r.Code != 0 || strings.TrimSpace(r.Stdout) != want {
		t.Errorf("zramctl: exit code %d: %q, want %q\n%s", r.Code, r.Stdout, want, r.Stderr)
	}
}
