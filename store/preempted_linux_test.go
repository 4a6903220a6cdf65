// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Memory is taken, mapped, locked and given back although signals interrupt the
// thread that does it, as the Go runtime's do. (Linux 6.18 interrupts none of that;
// older kernels end fallocate.)
func TestSignalsInterruptNothing(t *testing.T) {
	const size = 8 << 20
	mem := newMemory(t)
	if err := mem.reserve(size); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stop := make(chan struct{})
	var storm sync.WaitGroup
	defer storm.Wait()
	defer close(stop)
	pid, tid := unix.Getpid(), unix.Gettid()
	storm.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Tgkill(pid, tid, unix.SIGURG); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for round := range 25 {
		for _, step := range []func(off, n int64) error{mem.allocate, mem.adopt, mem.Lock, mem.punch} {
			if err := step(0, size); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
}
