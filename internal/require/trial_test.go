// SPDX-License-Identifier: Apache-2.0

package require_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A trial leaves neither a mount nor a device behind. Other processes may mount and attach at the
// same time, so the test looks for the names that the trials use.
func TestTrialsLeaveNothing(t *testing.T) {
	t.Run("fuse", func(t *testing.T) { require.FUSE(t) })
	t.Run("userns", func(t *testing.T) { require.UserNS(t) })
	t.Run("loop", func(t *testing.T) { require.Loop(t) })
	before := zramDevices(t)
	t.Run("zram", func(t *testing.T) { require.Zram(t) })
	if after := zramDevices(t); after > before {
		t.Errorf("%d zram devices, before the trial %d", after, before)
	}

	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mounts, []byte("zramfs-require")) {
		t.Errorf("a mount was left:\n%s", mounts)
	}
	attached, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range attached {
		backing, err := os.ReadFile(name)
		if err == nil && bytes.Contains(backing, []byte("zramfs-require")) {
			t.Errorf("%s says that the loop device is still attached to %s", name, backing)
		}
	}
}

func zramDevices(t *testing.T) int {
	t.Helper()
	devices, err := filepath.Glob("/sys/block/zram*")
	if err != nil {
		t.Fatal(err)
	}
	return len(devices)
}
