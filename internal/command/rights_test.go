// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// An error of missing rights names root.
func TestWithoutRightsRunAsRoot(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	const nobody = 65534
	root, err := os.MkdirTemp("/tmp", "zramfs test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "secret"), make([]byte, pageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"up", "-s", "64M", filepath.Join(root, "zram")}, {"mount", "-s", "64M", filepath.Join(root, "zram")}, {"estimate", "-f", filepath.Join(root, "secret")},
		{"snapshot", "inspect", filepath.Join(root, "secret")},
	} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
		cmd.Env, cmd.Dir = append(os.Environ(), asProgram+"=1"), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if got := runCommand(t, cmd); got.code != exitFailure || !strings.HasSuffix(got.stderr, "permission denied: run as root\n") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
