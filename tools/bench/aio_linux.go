// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"golang.org/x/sys/unix"
)

// The kernel's structures for asynchronous I/O (include/uapi/linux/aio_abi.h) lie
// in mapped memory, which the garbage collector neither moves nor frees, and are
// written by offset.
const (
	// struct iocb
	iocbSize   = 64
	iocbData   = 0  // __u64 aio_data: comes back in the event
	iocbOpcode = 16 // __u16 aio_lio_opcode
	iocbFile   = 20 // __u32 aio_fildes
	iocbBuffer = 24 // __u64 aio_buf
	iocbLength = 32 // __u64 aio_nbytes
	iocbOffset = 40 // __s64 aio_offset
	// opcodePwrite is IOCB_CMD_PWRITE.
	opcodePwrite = 1
	// struct io_event
	eventSize   = 32
	eventData   = 0  // __u64 data
	eventResult = 16 // __s64 res: bytes, or a negative errno
)

// An asyncWriter keeps up to depth writes to one file in flight. It belongs to one
// goroutine.
type asyncWriter struct {
	fd     int
	depth  int
	handle uintptr
	// memory holds, one after another: the io_context_t, the pointer to the iocb
	// that is being submitted, an event, and the iocbs.
	memory []byte
	base   uintptr
	event  []byte
	iocbs  []byte
	free   []int // slots without a request in flight
}

// The parts of asyncWriter.memory.
const (
	contextAt = 0
	pointerAt = 8
	eventAt   = 32
	iocbsAt   = 64
)

func newAsyncWriter(fd, depth int) (*asyncWriter, error) {
	memory, err := unix.Mmap(-1, 0, iocbsAt+depth*iocbSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map requests: %w", err)
	}
	w := &asyncWriter{fd: fd, depth: depth, memory: memory, base: addressOf(memory)}
	w.event = memory[eventAt : eventAt+eventSize]
	w.iocbs = memory[iocbsAt:]
	for slot := range depth {
		w.free = append(w.free, slot)
	}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(depth), w.base+contextAt, 0); errno != 0 {
		return nil, fmt.Errorf("set up asynchronous I/O: %w (sysctl fs.aio-max-nr)", errno)
	}
	w.handle = uintptr(binary.NativeEndian.Uint64(memory[contextAt:]))
	return w, nil
}

// addressOf returns the address of mapped memory. reflect gives it as a number,
// which is all that the kernel is told; nothing here makes a pointer of it. It
// allocates, so it is called once for each mapping.
func addressOf(memory []byte) uintptr { return reflect.ValueOf(memory).Pointer() }

// inFlight returns the number of writes that have not completed.
func (w *asyncWriter) inFlight() int { return w.depth - len(w.free) }

// submit starts a write of length bytes at address and returns the slot that its
// completion will name. At least one slot must be free.
func (w *asyncWriter) submit(address uintptr, length int, offset int64) (slot int, err error) {
	slot = w.free[len(w.free)-1]
	iocb := w.iocbs[slot*iocbSize : (slot+1)*iocbSize]
	clear(iocb)
	binary.NativeEndian.PutUint64(iocb[iocbData:], uint64(slot))
	binary.NativeEndian.PutUint16(iocb[iocbOpcode:], opcodePwrite)
	binary.NativeEndian.PutUint32(iocb[iocbFile:], uint32(w.fd))
	binary.NativeEndian.PutUint64(iocb[iocbBuffer:], uint64(address))
	binary.NativeEndian.PutUint64(iocb[iocbLength:], uint64(length))
	binary.NativeEndian.PutUint64(iocb[iocbOffset:], uint64(offset))
	binary.NativeEndian.PutUint64(w.memory[pointerAt:], uint64(w.base)+iocbsAt+uint64(slot*iocbSize))
	// RawSyscall spares the scheduler's bookkeeping: the callers hold a thread each.
	if _, _, errno := unix.RawSyscall(unix.SYS_IO_SUBMIT, w.handle, 1, w.base+pointerAt); errno != 0 {
		return 0, fmt.Errorf("submit write at %d: %w", offset, errno)
	}
	w.free = w.free[:len(w.free)-1]
	return slot, nil
}

// collect waits for one completion and returns its slot. The write must have
// written length bytes.
func (w *asyncWriter) collect(length int) (slot int, err error) {
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_IO_GETEVENTS, w.handle, 1, 1, w.base+eventAt, 0, 0)
		if errno == 0 {
			break
		}
		// The Go runtime's own signals interrupt the wait.
		if errno != unix.EINTR {
			return 0, fmt.Errorf("collect write: %w", errno)
		}
	}
	slot = int(binary.NativeEndian.Uint64(w.event[eventData:]))
	w.free = append(w.free, slot)
	result := int64(binary.NativeEndian.Uint64(w.event[eventResult:]))
	if result < 0 {
		return 0, fmt.Errorf("write: %w", unix.Errno(-result))
	}
	if result != int64(length) {
		return 0, fmt.Errorf("write: %d bytes of %d", result, length)
	}
	return slot, nil
}

// close ends the context, waiting for whatever is in flight.
func (w *asyncWriter) close() error {
	if _, _, errno := unix.Syscall(unix.SYS_IO_DESTROY, w.handle, 0, 0); errno != 0 {
		return fmt.Errorf("end asynchronous I/O: %w", errno)
	}
	if err := unix.Munmap(w.memory); err != nil {
		return fmt.Errorf("unmap requests: %w", err)
	}
	return nil
}
