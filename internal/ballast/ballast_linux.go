// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pageSize = 4096
	// chunk is how much the ballast grows by before it is paged out: the memory that growing takes.
	chunk = 2 << 20

	// The kernel may take a second to write what was paged out.
	settleTries = 20
	settlePause = 50 * time.Millisecond
)

// A ballast is memory that was written once and paged out. It is used by one goroutine.
type ballast struct {
	memory []byte // address space alone, beyond size
	size   int    // bytes that are paged out, a multiple of chunk
	fill   byte   // what its pages hold; not 0 in tests, which then see what kernels before 6.12 do
	linger bool   // the kernel keeps a page that it has written in its swap cache, until told again
}

// newBallast makes a ballast of no bytes that can grow to limit.
func newBallast(limit uint64) (*ballast, error) {
	memory, err := unix.Mmap(-1, 0, int(limit/chunk*chunk), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("take %d bytes of address space: %w", limit, err)
	}
	// A page at a time: the kernel needs no run of free pages, and gives each slot back by itself.
	if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("advise memory: %w", err)
	}
	return &ballast{memory: memory, linger: WritesZeros()}, nil
}

// WritesZeros reports whether the kernel writes pages of zeros to the device, as it does before
// Linux 6.12: then the device stores the ballast, as same-filled pages.
func WritesZeros() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return true
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major < 6 || major == 6 && minor < 12
}

// resize makes the ballast as large as size, at most its limit, or as far as go on says yes.
func (b *ballast) resize(size uint64, goOn func() bool) error {
	want := int(min(size, uint64(len(b.memory)))) / chunk * chunk
	if want < b.size {
		old := b.memory[want:b.size]
		b.size = want
		if err := unix.Madvise(old, unix.MADV_DONTNEED); err != nil {
			return fmt.Errorf("free ballast: %w", err)
		}
		return nil
	}
	for b.size < want && goOn() {
		if err := b.grow(); err != nil {
			return err
		}
	}
	return nil
}

// grow adds a chunk.
func (b *ballast) grow() error {
	added := b.memory[b.size : b.size+chunk]
	for i := 0; i < chunk; i += pageSize {
		added[i] = b.fill // takes the page; its other bytes are zeros
	}
	if b.fill != 0 {
		for i := range added {
			added[i] = b.fill
		}
	}
	b.size += chunk
	if err := unix.Madvise(added, unix.MADV_PAGEOUT); err != nil { // since Linux 5.4
		return fmt.Errorf("page ballast out: %w", err)
	}
	if !b.linger || b.size < 2*chunk {
		return nil
	}
	// The write of the chunk before is over by now, and its pages are in the swap cache. Once read
	// and paged out again they leave it: they are unchanged.
	before := b.memory[b.size-2*chunk : b.size-chunk]
	var sum byte
	for i := 0; i < chunk; i += pageSize {
		sum |= before[i]
	}
	if sum != b.fill {
		return errors.New("a page of the ballast came back with other content")
	}
	return unix.Madvise(before, unix.MADV_PAGEOUT)
}

// settle pages out what the kernel has left in memory because it was being written, and reports
// whether nearly all of the ballast is in swap.
func (b *ballast) settle() (bool, error) {
	for try := 0; ; try++ {
		out, err := swappedOut()
		if err != nil || out >= uint64(b.size)/16*15 || try == settleTries {
			return out >= uint64(b.size)/16*15, err
		}
		time.Sleep(settlePause)
		if err := unix.Madvise(b.memory[:b.size], unix.MADV_PAGEOUT); err != nil {
			return false, fmt.Errorf("page ballast out: %w", err)
		}
	}
}

// swappedOut returns what of this process is in swap, in bytes.
func swappedOut() (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	return kibibytes(text, "VmSwap")
}
