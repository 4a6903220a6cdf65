// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// memtesterLimit is what memtester's group may keep in memory, and memtesterSize what it tests:
	// kernel zram as well lets it go on for ever.
	memtesterLimit = 8 << 20
	memtesterSize  = 16 << 20
	// memtesterTime is how long it may test in one window; a loop takes longer.
	memtesterTime = 35 * time.Second
	// tightSize is a little more than the limit: there the kernel decides by statistics that are
	// old after a twentieth of a second. tightTime is how long the kernel may do so.
	tightSize    = 9 << 20
	tightTime    = 6 * time.Second
	tightWindows = 3
)

// TestSwapSuiteMemtester lets memtester check memory in a group that may keep half of it, with the
// device as the only swap.
func TestSwapSuiteMemtester(t *testing.T) {
	require.Suite(t, "")
	require.Command(t, "memtester")
	dir, group := memtesterGroup(t, "memtester")
	said := memtester(t, group, memtesterSize, memtesterTime)
	s := statusOf(t, dir)
	passed := strings.Count(said, "ok\n")
	t.Logf("%d tests passed, %d pages out, %d in", passed, s.IO.Writes, s.IO.Reads)
	if n := groupKills(t, group); n > 0 || passed == 0 {
		t.Errorf("killed %d times, %d tests passed:\n%s", n, passed, said)
	}
	if s.IO.Writes < 1000 || s.IO.Reads < 1000 || s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 {
		t.Errorf("it left %+v", s.IO)
	}
}

// TestSwapSmallGroup lets memtester have a little more than a small group may keep. Without the
// reads of package groupstat, and with pauses between them, the kernel kills it within seconds.
func TestSwapSmallGroup(t *testing.T) {
	require.Command(t, "memtester")
	killed := 0
	for i := range tightWindows {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			_, group := memtesterGroup(t, "tight")
			memtester(t, group, tightSize, tightTime)
			killed += groupKills(t, group)
		})
	}
	// Reads that get no processor for long cannot help.
	if killed > 1 {
		t.Errorf("killed %d of %d processes in groups of %d MiB", killed, tightWindows, memtesterLimit>>20)
	}
}

// memtesterGroup makes a group, and turns swap on.
func memtesterGroup(t *testing.T, name string) (dir, group string) {
	t.Helper()
	group = memoryGroup(t, name, memtesterLimit)
	dir = swapDir(t)
	t.Cleanup(func() { liftLimit(t, group) })
	mustRun(t, commandTimeout, "up", "--size", "1G", dir)
	return dir, group
}

// memtester runs memtester in a group for some time and returns what it said. It may not lock its
// memory. It must find nothing; it may not come to its end.
func memtester(t *testing.T, group string, size uint64, most time.Duration) string {
	t.Helper()
	r := runCommand(t, most+commandTimeout, inGroup(group, "timeout", "-s", "KILL", strconv.FormatFloat(most.Seconds(), 'f', 0, 64),
		"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "prlimit", "--memlock=0",
		"memtester", strconv.FormatUint(size, 10)+"B", "1"))
	const killed = 128 + 9 // or -1, where timeout has ended itself by the signal
	if strings.Contains(r.Stdout+r.Stderr, "FAILURE") || r.Code != 0 && r.Code != -1 && r.Code != killed {
		t.Errorf("exit code %d:\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// inGroup prepares a program that runs in a control group.
func inGroup(group string, args ...string) *exec.Cmd {
	const script = `echo 0 >"$0/cgroup.procs" && exec "$@"`
	return exec.Command("sh", append([]string{"-c", script, group}, args...)...)
}
