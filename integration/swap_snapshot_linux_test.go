// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// Swap is neither saved nor restored to, by no flag.
func TestSwapSnapshotRefused(t *testing.T) {
	dir := swapDir(t)
	from, file := mount(t, "--size", "16M"), filepath.Join(tempDir(t), "saved")
	mustRun(t, commandTimeout, "snapshot", "save", from, file)
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	save := run(t, commandTimeout, "snapshot", "save", "--live", dir, file+"2")
	restore := run(t, commandTimeout, "snapshot", "restore", "--force", file, dir)
	mustRun(t, downTimeout, "down", dir)
	if save.Code != 1 || !strings.Contains(save.Stderr, "it is used as swap") {
		t.Errorf("save: exit code %d: %s", save.Code, save.Stderr)
	}
	if restore.Code != 1 || !strings.Contains(restore.Stderr, "is swapped to") {
		t.Errorf("restore: exit code %d: %s", restore.Code, restore.Stderr)
	}
	onlyFile(t, file)
}
