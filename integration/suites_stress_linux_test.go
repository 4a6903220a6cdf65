// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// fsxSize is the device that fsx works on, and fsxOperations what it does there.
	fsxSize       = "16M"
	fsxOperations = "300000"
	fsxTimeout    = 10 * time.Minute
	// stressLimit is what the group of a stressor may keep in memory.
	stressLimit = 96 << 20
	// stressTimeout bounds a stressor, which itself ends after stressTime.
	stressTime    = "25s"
	stressTimeout = 45 * time.Second
)

// TestSuiteFsx lets fsx of xfstests write, read, copy ranges and map the data file at random, and
// compare each read with what it wrote. It does nothing that would change the size of a file.
func TestSuiteFsx(t *testing.T) {
	require.FUSE(t)
	path := require.Suite(t, "xfstests")
	for name, flags := range map[string][]string{"mapped": nil, "calls": {"-R", "-W"}} {
		t.Run(name, func(t *testing.T) {
			dir := mount(t, "--size", fsxSize)
			args := append([]string{"-q", "-L", "-N", fsxOperations, "-P", tempDir(t)}, flags...)
			system(t, fsxTimeout, filepath.Join(path, "ltp/fsx"), append(args, data(dir))...)
			if s := statusOf(t, dir); s.IO.Reads == 0 || s.IO.Writes == 0 || s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 {
				t.Errorf("fsx left %+v", s.IO)
			}
		})
	}
}

// TestSwapSuiteStress lets stressors of stress-ng that check their own memory work in a group that
// holds less of it: pages that name their own address, every method of writing and checking
// memory, and mappings.
func TestSwapSuiteStress(t *testing.T) {
	require.Suite(t, "")
	require.Command(t, "stress-ng")
	for name, flags := range map[string][]string{
		"pageswap": {"--pageswap", "2"},
		"vm":       {"--vm", "2", "--vm-bytes", "192M", "--vm-method", "all"},
		"mmap":     {"--mmap", "2", "--mmap-bytes", "192M"},
	} {
		t.Run(name, func(t *testing.T) {
			group := memoryGroup(t, "stress", stressLimit)
			dir := swapDir(t)
			t.Cleanup(func() { liftLimit(t, group) })
			mustRun(t, commandTimeout, "up", "--size", "1G", dir)
			args := append([]string{"stress-ng", "--verify", "--temp-path", tempDir(t), "--timeout", stressTime}, flags...)
			r := runCommand(t, stressTimeout, inGroup(group, args...))
			s := statusOf(t, dir)
			t.Logf("%s%s%d pages out, %d in, %d kills", r.Stdout, r.Stderr, s.IO.Writes, s.IO.Reads, groupKills(t, group))
			if r.Code != 0 {
				t.Errorf("exit code %d", r.Code)
			}
			if s.IO.Writes < 1000 || s.IO.Reads < 1000 || s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 {
				t.Errorf("it left %+v", s.IO)
			}
		})
	}
}
