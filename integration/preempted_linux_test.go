// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// The signal that the Go runtime preempts with interrupts system calls of the
// worker. However often that happens, no request fails, all memory that is needed
// is taken, and a worker comes to life and takes over.
func TestPreemptedWithoutEnd(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f := serve(t, filepath.Join(tempDir(t), "zram"), "--size", "32M", "--memory", "memfd")
	s := openShadow(t, f.dir)
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() { preempt(f.pid, stop) })
	defer storm.Wait()
	defer close(stop)
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 3 {
		if round == 1 {
			if err := unix.Kill(statusOf(t, f.dir).WorkerPID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.churn(rng, 0, len(s.want), 2000); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, f.log)
		}
		if err := s.free(s.plain, punchHole, 0, len(s.want)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.checkAll(); err != nil {
		t.Error(err)
	}
	if io := statusOf(t, f.dir).IO; io.FailedReads != 0 || io.FailedWrites != 0 {
		t.Errorf("%+v", io)
	}
	if strings.Contains(f.log.String(), "interrupted") {
		t.Errorf("the log:\n%s", f.log)
	}
}

// preempt sends SIGURG to all threads of the keeper's children until it is stopped.
func preempt(keeper int, stop <-chan struct{}) {
	for {
		for _, pid := range childrenOf(keeper) {
			tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
			if err != nil {
				continue // it has ended
			}
			for range 20 {
				for _, task := range tasks {
					tid, err := strconv.Atoi(task.Name())
					if err != nil || errors.Is(unix.Tgkill(pid, tid, unix.SIGURG), unix.EPERM) {
						return
					}
				}
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
				}
			}
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}
