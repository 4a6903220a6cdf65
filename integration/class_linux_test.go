// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// A worker that serves has left the real-time class in which its keeper started
// it, the first one and one that follows a dead one; of the keeper one thread may
// stay in it.
func TestWorkerLeavesRealTimeClass(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "64M", "--memory", "memfd")
	p := protection(t, f.dir, status.NameScheduling)
	if p.State != status.OK {
		t.Skip(p.Detail)
	}
	first := statusOf(t, f.dir).WorkerPID
	wantUsualClass(t, first)
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.log.wait(t, "another worker serves")
	second := statusOf(t, f.dir).WorkerPID
	if second == first {
		t.Fatalf("process %d still serves", first)
	}
	wantUsualClass(t, second)
	// The thread that locked for the first worker has ended with that.
	within(t, answerTimeout, "one real-time thread in the keeper", func() bool {
		return classes(t, f.pid)[unix.SCHED_RR] == 1
	})
}

func wantUsualClass(t *testing.T, pid int) {
	t.Helper()
	for range 5 {
		if found := classes(t, pid); len(found) != 1 || found[unix.SCHED_NORMAL] == 0 {
			t.Fatalf("threads of process %d by class of scheduling: %v", pid, found)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// classes counts the threads of a process by their class of scheduling: policy, the
// 41st field of /proc/PID/stat (proc_pid_stat(5)).
func classes(t *testing.T, pid int) map[int]int {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d has no threads: %v", pid, err)
	}
	found := map[int]int{}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The third field follows the name, which is in parentheses.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		class, err := strconv.Atoi(fields[41-3])
		if err != nil {
			t.Fatal(err)
		}
		found[class]++
	}
	return found
}
