// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestServedOtherUsers looks at the tree as another user: attributes can be
// read, the data file cannot, and without AllowOther nothing can.
func TestServedOtherUsers(t *testing.T) {
	require.Root(t)
	for name, c := range map[string]struct {
		allowOther bool
		want       string
	}{
		"allowed": {true, "list: <nil>\nread dev/zram0: permission denied\nwrite dev/zram0: permission denied\n" +
			"read block/zram0/mm_stat: <nil>\nwrite block/zram0/mm_stat: permission denied\nread control/status: <nil>\n"},
		"not allowed": {false, "list: permission denied\nread dev/zram0: permission denied\nwrite dev/zram0: permission denied\n" +
			"read block/zram0/mm_stat: permission denied\nwrite block/zram0/mm_stat: permission denied\nread control/status: permission denied\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDevice(t, serveConfig{Disksize: smallDisk, AllowOther: c.allowOther})
			dir, err := os.OpenFile(d.dir, unix.O_PATH|unix.O_DIRECTORY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			command := peeker("tree")
			command.ExtraFiles = []*os.File{dir} // the way to it is closed to others
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if got := output(t, command); got != c.want {
				t.Errorf("another user sees\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestMountUnprivileged mounts as a user without the right to it.
func TestMountUnprivileged(t *testing.T) {
	require.Root(t)
	command := peeker("mount " + os.TempDir())
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	got := output(t, command)
	if !strings.Contains(got, ": run as root") || strings.Count(got, "\n") != 1 {
		t.Errorf("mounting without privileges says %q", got)
	}
}

// TestServedInUserNamespace runs the tests of a served device again, as a user
// without privileges in namespaces of its own.
func TestServedInUserNamespace(t *testing.T) {
	attr := require.UserNS(t)
	// Inside there is no other user, and what a request costs is the same.
	command := exec.Command("/proc/self/exe", "-test.run=^TestServed", "-test.skip=InUserNamespace|OtherUsers|Cost", "-test.short", "-test.v")
	command.SysProcAttr = attr
	command.Dir = "/"
	out := output(t, command)
	if !strings.Contains(out, "--- PASS: TestServedModel") || strings.Contains(out, "--- FAIL") {
		t.Errorf("inside:\n%s", out)
	}
}
