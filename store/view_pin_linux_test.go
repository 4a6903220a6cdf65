// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The pages that BenchmarkViewPinning reads.
const (
	pinnedSize = 512 << 20
	pinnedPart = 32 << 20 // at a time, as much as a window of a command that feeds a device
)

// A caller that goes through an image once could let a device read the segments themselves instead
// of copying objects out of them. For that their pages have to be pinned, and let go again: a part
// is pinned here as io_uring does it for fixed buffers, which is the least that a driver can do.
// The figure to look at is "pinned/copied": above 1 pinning costs more than the copy that it saves.
// See View.
func BenchmarkViewPinning(b *testing.B) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = mem.Close() })
	image, part := mem.File(), make([]byte, pinnedPart)
	for i := range part {
		part[i] = byte(i >> 7)
	}
	for at := int64(0); at < pinnedSize; at += pinnedPart {
		if _, err := image.WriteAt(part, at); err != nil {
			b.Fatal(err)
		}
	}
	ring := newPinner(b)
	var copied, pinned time.Duration
	for b.Loop() {
		for at := 0; at < pinnedSize; at += pinnedPart {
			began := time.Now()
			if _, err := image.ReadAt(part, int64(at)); err != nil {
				b.Fatal(err)
			}
			middle := time.Now()
			mapped, err := unix.Mmap(int(image.Fd()), int64(at), pinnedPart, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				b.Fatal(err)
			}
			ring.pin(b, mapped)
			if err := unix.Munmap(mapped); err != nil {
				b.Fatal(err)
			}
			pinned += time.Since(middle)
			copied += middle.Sub(began)
		}
	}
	bytes := float64(b.N) * pinnedSize
	b.ReportMetric(bytes/1e9/copied.Seconds(), "copied-GB/s")
	b.ReportMetric(bytes/1e9/pinned.Seconds(), "pinned-GB/s")
	b.ReportMetric(pinned.Seconds()/copied.Seconds(), "pinned/copied")
}

// A pinner is an io_uring that is used for its fixed buffers alone.
type pinner struct{ fd uintptr }

func newPinner(b *testing.B) pinner {
	b.Helper()
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		b.Skipf("io_uring: %v", errno)
	}
	b.Cleanup(func() { _ = unix.Close(int(fd)) })
	return pinner{fd}
}

// pin pins memory and lets it go.
func (p pinner) pin(b *testing.B, memory []byte) {
	b.Helper()
	const registerBuffers, unregisterBuffers = 0, 1 // IORING_REGISTER_BUFFERS, IORING_UNREGISTER_BUFFERS
	v := unix.Iovec{Base: &memory[0]}
	v.SetLen(len(memory))
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, p.fd, registerBuffers, uintptr(unsafe.Pointer(&v)), 1, 0, 0)
	if errno == 0 {
		_, _, errno = unix.Syscall6(unix.SYS_IO_URING_REGISTER, p.fd, unregisterBuffers, 0, 0, 0, 0)
	}
	if errno != 0 {
		b.Fatal(fmt.Errorf("pin %d bytes: %w", len(memory), errno))
	}
}
