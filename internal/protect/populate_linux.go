// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// Populate makes the program's code and tables present, and as many operating system threads as the
// process will need. The runtime makes a thread when all of its own are in system calls or belong
// to a goroutine, and keeps it; making one takes kernel memory.
func Populate(threads int) status.Protection {
	p := status.Protection{Name: status.NamePopulate, State: status.OK}
	bytes, err := populateExecutable()
	err = errors.Join(err, makeThreads(threads))
	if err != nil {
		p.State, p.Detail = status.Warn, fmt.Sprintf("code and tables: %v", err)
		return p
	}
	p.Detail = fmt.Sprintf("%d KiB of code and tables are present", bytes>>10)
	return p
}

func populateExecutable() (bytes uint64, err error) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	all, err := host.Local.Maps()
	if err != nil {
		return 0, err
	}
	own := executableRegions(all, path)
	if len(own) == 0 {
		return 0, fmt.Errorf("no mapping of %s", path)
	}
	for _, r := range own {
		if err := populateRegion(r); err != nil {
			return bytes, err
		}
		bytes += r.End - r.Start
	}
	return bytes, nil
}

// populateRegion locks r, which also makes it present, on any kernel. Where locking is not allowed,
// madvise makes it present (Linux 5.14). Either way a writable page of a file becomes a private
// copy.
func populateRegion(r host.Region) error {
	if _, _, errno := unix.Syscall(unix.SYS_MLOCK, uintptr(r.Start), uintptr(r.End-r.Start), 0); errno == 0 {
		return nil
	}
	advice := unix.MADV_POPULATE_READ
	if r.Writable() {
		advice = unix.MADV_POPULATE_WRITE
	}
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(r.Start), uintptr(r.End-r.Start), uintptr(advice))
	switch {
	case errno == 0:
		return nil
	case errors.Is(errno, unix.EINVAL):
		return errors.New("may not be locked, and populating without that needs Linux 5.14")
	}
	return fmt.Errorf("populate %x-%x %s: %w", r.Start, r.End, r.Perms, errno)
}

// populateRange makes the pages from start to end present. It needs Linux 5.14.
func populateRange(start, end uint64) error {
	if start == end {
		return nil
	}
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_POPULATE_WRITE)
	if errno != 0 {
		return fmt.Errorf("populate %x-%x: %w", start, end, errno)
	}
	return nil
}

// giveBack lets the kernel have the memory of unused bytes.
func giveBack(unused []byte) error { return unix.Madvise(unused, unix.MADV_DONTNEED) }

// makeThreads makes n threads exist at the same time, by goroutines that each keep one, with the
// stacks on which they take signals, and leaves them to the runtime.
func makeThreads(n int) error {
	failed := make([]error, n)
	var all, gate sync.WaitGroup
	all.Add(n)
	gate.Add(1)
	var ended sync.WaitGroup
	for i := range n {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			failed[i] = populateSignalStack()
			all.Done()
			gate.Wait()
		})
	}
	all.Wait()
	gate.Done()
	ended.Wait()
	if err := errors.Join(failed...); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil // before Linux 5.14; interruptThreads touches a part of them
}
