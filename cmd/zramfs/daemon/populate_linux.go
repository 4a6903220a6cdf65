// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
)

// sparePool is how many operating system threads are made before they are needed. The runtime keeps
// threads and makes new ones when all of its own are in system calls or belong to a goroutine;
// making one takes kernel memory. There can be those that run goroutines, those of fusefs that wait
// for memory or for a request, and some that wait for keeper and log.
func sparePool() int { return runtime.GOMAXPROCS(0) + fusefs.Workers() + readers }

// populate makes present what the process will touch later: the program's code and tables, and
// threads.
func populate() Protection {
	p := Protection{Name: ProtectPopulate, State: StateOK}
	bytes, err := populateExecutable()
	makeThreads(sparePool())
	if err != nil {
		p.State, p.Detail = StateWarn, fmt.Sprintf("code and tables: %v", err)
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
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	all, err := parseMaps(string(text))
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
		bytes += r.end - r.start
	}
	return bytes, nil
}

// populateRegion locks r, which also makes it present, on any kernel. Where locking is not allowed
// madvise makes it present alone (Linux 5.14). Pages that may be written get their own copy either
// way.
func populateRegion(r region) error {
	if _, _, errno := unix.Syscall(unix.SYS_MLOCK, uintptr(r.start), uintptr(r.end-r.start), 0); errno == 0 {
		return nil
	}
	advice := unix.MADV_POPULATE_READ
	if r.writable() {
		advice = unix.MADV_POPULATE_WRITE
	}
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(r.start), uintptr(r.end-r.start), uintptr(advice))
	switch {
	case errno == 0:
		return nil
	case errors.Is(errno, unix.EINVAL):
		return errors.New("may not be locked, and populating without that needs Linux 5.14")
	}
	return fmt.Errorf("populate %x-%x %s: %w", r.start, r.end, r.perms, errno)
}

// populateHeap makes all of the Go heap present but the ballast. Much of what codecs and store have
// there, their tables above all, nobody has touched before the first request needs it. It needs
// Linux 5.14.
func populateHeap() error {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	all, err := parseMaps(string(text))
	if err != nil {
		return err
	}
	if ballast == nil {
		return errors.New("it cannot be told from other memory")
	}
	start := uint64(reflect.ValueOf(ballast).Pointer())
	end := start + uint64(len(ballast))
	for _, r := range all {
		if r.start <= start && end <= r.end {
			return errors.Join(populateRange(r.start, start), populateRange(end, r.end))
		}
	}
	return errors.New("it is not in /proc/self/maps")
}

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

// giveBack lets the kernel have the memory of bytes that nobody uses.
func giveBack(unused []byte) error { return unix.Madvise(unused, unix.MADV_DONTNEED) }

// makeThreads brings n threads into being at the same time, by goroutines that each keep theirs,
// and leaves them to the runtime.
func makeThreads(n int) {
	var all, gate sync.WaitGroup
	all.Add(n)
	gate.Add(1)
	var ended sync.WaitGroup
	for range n {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			gate.Wait()
		})
	}
	all.Wait()
	gate.Done()
	ended.Wait()
}
