// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// hideDir makes the test binary call hideData on the directory that it names: a mount namespace
// belongs to a whole process.
const hideDir = "ZRAMFS_TEST_HIDE"

// hideScript makes a device of two mounts without a server at $1, and calls hideData in the program
// behind descriptor 3. The mounts end with the namespace.
const hideScript = `
set -eu
mkdir "$1/dev" "$1/control"
[ "$2" = without ] || : > "$1/control/loops"
exec 4<>/dev/fuse
mount -i -t "$3" -o fd=4,rootmode=40000,user_id=0,group_id=0 zram0 "$1/dev"
timeout -s KILL 25 /proc/self/fd/3
[ "$2" = without ] || cat "$1/control/loops"
grep -c "$1/dev" /proc/self/mountinfo || :`

func TestHideData(t *testing.T) {
	attr := require.MountNS(t)
	require.Command(t, "mount")
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	for _, test := range []struct{ notes, kind, want string }{
		{"with", dataType, "/dev/loop3\n/dev/loop4\n0\n"},
		{"without", dataType, "0\n"},
		{"with", "fuse.other", "/dev/loop3\n/dev/loop4\n1\n"},
	} {
		dir, err := os.MkdirTemp("/tmp", "zr-command-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", hideScript, "sh", dir, test.notes, test.kind)
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		*cmd.SysProcAttr = *attr
		cmd.Dir = "/"
		cmd.ExtraFiles = []*os.File{self}
		cmd.Env = append(os.Environ(), hideDir+"="+dir)
		if got, err := cmd.CombinedOutput(); err != nil || string(got) != test.want {
			t.Errorf("%s, %s: %v, %q; want %q", test.notes, test.kind, err, got, test.want)
		}
	}
}
