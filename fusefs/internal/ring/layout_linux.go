// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Only this file knows the layout of io_uring's memory: include/uapi/linux/io_uring.h, and struct
// fuse_uring_cmd_req of include/uapi/linux/fuse.h.

const (
	setupCQSize       = 1 << 3
	setupSubmitAll    = 1 << 7
	setupCoopTaskrun  = 1 << 8
	setupSQE128       = 1 << 10
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13

	featSingleMmap = 1 << 0

	offRings = 0
	offSQEs  = 0x10000000

	enterGetEvents = 1 << 0

	opRead     = 22
	opUringCmd = 46

	cmdRegister       = 1 // FUSE_IO_URING_CMD_REGISTER
	cmdCommitAndFetch = 2 // FUSE_IO_URING_CMD_COMMIT_AND_FETCH

	sqeSize = 128

	// defaultSetup: FUSE demands entries of 128 bytes. The other flags make the kernel hand
	// requests over only when our thread enters it, instead of interrupting it at any time.
	defaultSetup = setupSQE128 | setupSubmitAll | setupSingleIssuer | setupDeferTaskrun
)

// parameters is struct io_uring_params.
type parameters struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32

	_  [3]uint32
	sq struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// completion is struct io_uring_cqe.
type completion struct {
	data   uint64
	result int32
	_      uint32
}

// A uring is one io_uring. All but close belongs to the thread that made it.
type uring struct {
	// Immutable.
	fd             int
	shared, sqes   []byte // mappings
	sqTail         *atomic.Uint32
	sqArray        []uint32
	cqHead, cqTail *atomic.Uint32
	cqes           []completion

	// The thread's own.
	tail, head uint32 // of the submission and the completion queue
	pending    uint32 // pushed, but not yet submitted
}

var errRings = errors.New("the kernel's io_uring is older than 5.4")

// newUring makes a ring for the given number of submissions at a time (rounded up to a power of
// two) and of completions.
func newUring(submissions, completions int, flags uint32) (_ *uring, err error) {
	p := parameters{flags: flags | setupCQSize, cqEntries: uint32(max(submissions, completions))}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(submissions), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	u := &uring{fd: int(fd)}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.close())
		}
	}()
	if p.features&featSingleMmap == 0 {
		return nil, errRings
	}
	const access, kind = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(p.sq.array+p.sqEntries*4, p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(completion{})))
	if u.shared, err = unix.Mmap(u.fd, offRings, int(size), access, kind); err != nil {
		return nil, fmt.Errorf("map io_uring: %w", err)
	}
	if u.sqes, err = unix.Mmap(u.fd, offSQEs, int(p.sqEntries)*sqeSize, access, kind); err != nil {
		return nil, fmt.Errorf("map io_uring entries: %w", err)
	}
	number := func(offset uint32) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&u.shared[offset])) }
	u.sqTail, u.cqHead, u.cqTail = number(p.sq.tail), number(p.cq.head), number(p.cq.tail)
	u.sqArray = unsafe.Slice((*uint32)(unsafe.Pointer(&u.shared[p.sq.array])), p.sqEntries)
	for i := range u.sqArray {
		u.sqArray[i] = uint32(i) // entries are used in order
	}
	u.cqes = unsafe.Slice((*completion)(unsafe.Pointer(&u.shared[p.cq.cqes])), p.cqEntries)
	return u, nil
}

// close closes the ring. The kernel cancels pending operations, in its own time.
func (u *uring) close() error {
	var err error
	for _, mapping := range [][]byte{u.shared, u.sqes} {
		if mapping != nil {
			err = errors.Join(err, unix.Munmap(mapping))
		}
	}
	u.shared, u.sqes = nil, nil
	return errors.Join(err, unix.Close(u.fd))
}

// full reports whether there is no room to push.
func (u *uring) full() bool { return int(u.pending) == len(u.sqArray) }

// next returns an empty submission queue entry, to be filled in and pushed. The ring must not be
// full.
func (u *uring) next() []byte {
	index := int(u.tail) & (len(u.sqArray) - 1)
	sqe := u.sqes[index*sqeSize:][:sqeSize:sqeSize]
	clear(sqe)
	return sqe
}

// push queues the entry from next, for enter to submit.
func (u *uring) push() {
	u.tail++
	u.pending++
	u.sqTail.Store(u.tail)
}

// pop takes the next completion, if there is one.
func (u *uring) pop() (data uint64, result int32, ok bool) {
	if u.head == u.cqTail.Load() {
		return 0, 0, false
	}
	c := &u.cqes[u.head&uint32(len(u.cqes)-1)]
	data, result = c.data, c.result
	u.head++
	u.cqHead.Store(u.head)
	return data, result, true
}

// ready reports whether pop would return a completion.
func (u *uring) ready() bool { return u.head != u.cqTail.Load() }

// enter submits pushed entries and waits for that many completions. The Go scheduler knows that the
// thread waits.
func (u *uring) enter(wait int, flags uint32) unix.Errno {
	n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(u.fd), uintptr(u.pending), uintptr(wait), uintptr(flags), 0, 0)
	return u.entered(n, errno)
}

// submit submits pushed entries. It does not wait, so the Go scheduler need not know.
func (u *uring) submit() unix.Errno {
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(u.fd), uintptr(u.pending), 0, 0, 0, 0)
	return u.entered(n, errno)
}

func (u *uring) entered(submitted uintptr, errno unix.Errno) unix.Errno {
	if errno == 0 {
		u.pending -= uint32(submitted)
	}
	return errno
}

// prepareRegister fills the sqe in to lend the entry's buffers to the kernel.
func (r *Request) prepareRegister(sqe []byte, device int) {
	vectors := r.head[offVectors:slotSize]
	binary.NativeEndian.PutUint64(vectors[0:], address(r.head))
	binary.NativeEndian.PutUint64(vectors[8:], headSize)
	binary.NativeEndian.PutUint64(vectors[16:], address(r.Out))
	binary.NativeEndian.PutUint64(vectors[24:], uint64(len(r.Out)))
	r.prepare(sqe, device, cmdRegister)
	binary.NativeEndian.PutUint64(sqe[16:], address(vectors))
	binary.NativeEndian.PutUint32(sqe[24:], 2)
}

// prepareCommit fills the sqe in to send the answer and lend the entry again.
func (r *Request) prepareCommit(sqe []byte, device int) {
	r.prepare(sqe, device, cmdCommitAndFetch)
	binary.NativeEndian.PutUint64(sqe[56:], r.seal())
}

func (r *Request) prepare(sqe []byte, device int, operation uint32) {
	sqe[0] = opUringCmd
	binary.NativeEndian.PutUint32(sqe[4:], uint32(device))
	binary.NativeEndian.PutUint32(sqe[8:], operation)
	binary.NativeEndian.PutUint64(sqe[32:], uint64(r.index))
	binary.NativeEndian.PutUint16(sqe[64:], uint16(r.queue))
}

// prepareRead fills the sqe in to read into memory.
func prepareRead(sqe []byte, fd int, into []byte, data uint64) {
	sqe[0] = opRead
	binary.NativeEndian.PutUint32(sqe[4:], uint32(fd))
	binary.NativeEndian.PutUint64(sqe[16:], address(into))
	binary.NativeEndian.PutUint32(sqe[24:], uint32(len(into)))
	binary.NativeEndian.PutUint64(sqe[32:], data)
}

// address returns the address of memory that is not on a stack. The caller keeps it alive as long
// as the kernel has the address.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// aligned reports whether memory begins on a page.
func aligned(b []byte) bool { return address(b)%pageSize == 0 }
