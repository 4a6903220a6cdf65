// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// TestRoomOfARemovedGroup wants the room of the groups above a removed one while Room reads
// it: its files give ENODEV then, as does a device of the kernel's misc driver that does not exist.
func TestRoomOfARemovedGroup(t *testing.T) {
	require.Root(t)
	const absent = 10<<8 | 199
	r := tree(t, map[string]string{
		"proc/self/mountinfo":   "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
		"cg/cgroup.controllers": "memory\n",
		"cg/a/memory.max":       "33554432\n",
		"cg/a/memory.stat":      roomStat,
		"cg/a/b/memory.stat":    roomStat,
	})
	path := r.Path("cg/a/b", "memory.max")
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, absent); err != nil {
		t.Skipf("make a device: %v", err)
	}
	if _, err := os.ReadFile(path); !removed(err) {
		t.Skipf("%s: %v", filepath.Base(path), err)
	}
	h, err := r.MemoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	if room, limits, err := h.Room("/cg/a/b", nil); err != nil || room != 29<<20 || limits != "/cg/a" {
		t.Errorf("room %d below %q, %v; want 29M below /cg/a", room, limits, err)
	}
}
