// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

const (
	// chunkSize is what the Go runtime takes from the kernel at a time for data of its own, in
	// bytes (persistentChunkSize in its malloc.go). It fills a chunk from below, and the kernel
	// puts each new mapping below those before.
	chunkSize = 256 << 10
	// signalBytes is what the delivery of a signal touches of a signal stack, from its end, in
	// bytes: the state of the processor, with AMX 11 KiB, and the runtime's handler.
	signalBytes = 16 << 10
)

// PopulateRuntime makes present what the Go runtime touches by itself: the stacks on which threads
// take signals, and the memory for its tables of types. A serving
// process calls it once it serves.
//
// The runtime interrupts a thread that computes for 10 ms by a signal. The kernel puts the state of
// the processor on the thread's signal stack. A thread that touches its stack for the first time
// takes a page fault in the middle of a request: while memory is short, it waits for reclaim, and
// reclaim waits for the request.
func PopulateRuntime() error {
	return errors.Join(interruptThreads(), populateSmallRegions())
}

// PopulateSignals does the part of [PopulateRuntime] that signals need.
func PopulateSignals() error { return interruptThreads() }

// populateSignalStack makes the used end of the calling thread's signal stack present.
func populateSignalStack() error {
	var stack struct {
		start uintptr
		flags int32
		size  uintptr
	}
	if _, _, errno := unix.Syscall(unix.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&stack)), 0); errno != 0 {
		return os.NewSyscallError("sigaltstack", errno)
	}
	end := (uint64(stack.start+stack.size) + pageSize - 1) &^ (pageSize - 1)
	return populateRange(max(uint64(stack.start)&^(pageSize-1), end-signalBytes), end)
}

// interruptThreads sends each thread of the process the signal by which the runtime interrupts
// them. It reaches threads that makeThreads cannot, since they are busy.
func interruptThreads() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err == nil {
			err = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return fmt.Errorf("interrupt thread %s: %w", task.Name(), err)
		}
	}
	return nil
}

// populateSmallRegions makes anonymous mappings present: the small ones as a whole, of others the
// part that the runtime uses next. The heap has [WarmUp] and [MakePresent].
func populateSmallRegions() error {
	all, err := host.Local.Maps()
	if err != nil {
		return err
	}
	for _, r := range runtimeRegions(all) {
		if err := populateRange(r.Start, r.End); err != nil && !errors.Is(err, unix.EINVAL) { // before Linux 5.14
			return err
		}
	}
	return nil
}

// runtimeRegions returns what populateSmallRegions makes present, without the zero-initialised data
// behind the program.
func runtimeRegions(all []host.Region) []host.Region {
	var own []host.Region
	end := uint64(0)
	for _, r := range all {
		behind := r.Start == end
		if r.Path != "" || behind && end != 0 {
			end = r.End
			continue
		}
		end = 0
		if r.Perms != "rw-p" {
			continue
		}
		if r.End-r.Start > chunkSize {
			r.End = r.Start + chunkSize
		}
		own = append(own, r)
	}
	return own
}
