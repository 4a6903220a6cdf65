// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// A worker takes a page fault for each page that its store takes from the machine, which the
// maintainer does off the page path, and next to no others: all memory of requests is present
// before the first of them.
func TestNothingIsTouchedFirstByRequests(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for algorithm, size := range map[string]int{"adaptive": 32 << 20, "zstd(level=1)": 32 << 20, "zstd(level=10)": 8 << 20} {
		t.Run(algorithm, func(t *testing.T) { touchesNothingFirst(t, algorithm, size) })
	}
}

// touchesNothingFirst writes and reads size bytes.
func touchesNothingFirst(t *testing.T, algorithm string, size int) {
	const allowed = 20 // what the worker's other work may touch; the buffer of a request has 256 pages
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "64M", "--algorithm", algorithm)
	before := statusOf(t, f.dir)
	worker := before.WorkerPID
	calm(t, worker) // from its start, and from the status
	faults := minorFaults(t, worker)
	content := make([]byte, size)
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range content {
		content[i] = byte(rng.Uint32N(64)) // six bits of eight
	}
	err := withData(f.dir, func(fd int) error {
		if _, err := unix.Pwrite(fd, content, 0); err != nil {
			return err
		}
		got := make([]byte, len(content))
		if n, err := unix.Pread(fd, got, 0); err != nil || n != len(got) || !bytes.Equal(got, content) {
			return fmt.Errorf("read %d bytes: %w, %w", n, err, difference(got, content, 0))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	faults = minorFaults(t, worker) - faults
	taken := int64(statusOf(t, f.dir).Memory.MemUsedMax-before.Memory.MemUsedTotal) / pageSize
	if taken < int64(len(content))/pageSize/2 || faults > taken+allowed {
		t.Errorf("%d page faults for %d pages of memory", faults, taken)
	}
}

// calm waits until a process that has just started takes no more page faults: a new worker
// measures what a wake-up costs.
func calm(t *testing.T, pid int) {
	t.Helper()
	for before := int64(-1); ; time.Sleep(300 * time.Millisecond) {
		now := minorFaults(t, pid)
		if now == before {
			return
		}
		before = now
	}
}

// minorFaults is how many page faults without I/O a process has taken: the 10th field
// of /proc/PID/stat (proc_pid_stat(5)).
func minorFaults(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))[10-3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A signal takes no page fault: the runtime interrupts a thread that computes by one, in the middle
// of a request too, and a thread that waited there for memory would wait for ever where memory is
// short.
func TestSignalsTouchNothingFirst(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "64M")
	s := statusOf(t, f.dir)
	for name, pid := range map[string]int{"worker": s.WorkerPID, "keeper": s.KeeperPID} {
		calm(t, pid)
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			t.Fatal(err)
		}
		before := minorFaults(t, pid)
		for range 3 {
			for _, task := range tasks {
				tid, err := strconv.Atoi(task.Name())
				if err != nil {
					t.Fatal(err)
				}
				if err := unix.Tgkill(pid, tid, unix.SIGURG); err != nil {
					t.Fatal(err)
				}
			}
			calm(t, pid)
		}
		if faults := minorFaults(t, pid) - before; faults > int64(len(tasks))/8 {
			t.Errorf("%s: %d page faults for signals to %d threads", name, faults, len(tasks))
		}
	}
}
