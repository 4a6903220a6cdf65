// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// A device that is started in a limited control group leaves it, keeper and every
// worker; doctor has said so before.
func TestLeavesLimitedGroup(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	h, err := memoryHierarchy()
	if err != nil {
		t.Skip(err)
	}
	limited := confinement{Groups: []string{memoryGroup(t, "leave", 2<<30)}}
	if r := runConfined(t, limited, "doctor"); !strings.Contains(r.Stdout, "will leave this group") {
		t.Errorf("doctor:\n%s", r.Stdout)
	}
	dir := filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	if r := runConfined(t, limited, "mount", "--size", "16M", dir); r.Code != 0 {
		t.Fatalf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	p := protection(t, dir, status.NameCgroup)
	if p.State != status.OK || !strings.Contains(p.Detail, "left the group") || !strings.Contains(p.Detail, "zramfs-test-leave") {
		t.Errorf("%+v", p)
	}
	first := statusOf(t, dir)
	wantTop(t, h, first.KeeperPID)
	wantTop(t, h, first.WorkerPID)
	if err := unix.Kill(first.WorkerPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := statusOf(t, dir)
	if second.WorkerPID == first.WorkerPID {
		t.Fatalf("process %d still serves", first.WorkerPID)
	}
	wantTop(t, h, second.WorkerPID)
	if q := protection(t, dir, status.NameCgroup); q != p {
		t.Errorf("%+v became %+v", p, q)
	}
}

// wantTop checks that a process is in the highest group of the memory controller.
func wantTop(t *testing.T, h hierarchy, pid int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if ours := h.v1 && hasController(part[1], ",") || !h.v1 && part[0] == "0"; ours && part[2] != "/" {
			t.Errorf("process %d is in %s", pid, part[2])
		}
	}
}
