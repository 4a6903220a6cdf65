// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"sync/atomic"
	"syscall"
)

// The head of an entry, struct fuse_uring_req_header of include/uapi/linux/fuse.h:
// 128 bytes in which the kernel leaves the fuse_in_header and finds our
// fuse_out_header, 128 bytes for the operation's first argument, and struct
// fuse_uring_ent_in_out. Behind it, in the same slot, we keep the two iovecs that
// REGISTER points at, and what a successor has to know.
const (
	inHeaderSize  = 40 // struct fuse_in_header
	outHeaderSize = 16 // struct fuse_out_header

	offArg        = 128
	offCommitID   = offArg + 128 + 8
	offPayloadLen = offArg + 128 + 16
	headSize      = offArg + 128 + 32
	offVectors    = headSize
	offState      = offVectors + 2*16
	offPlace      = offState + 8
	slotSize      = 384 // whole cache lines
)

// FUSE_READ, and where struct fuse_read_in has how much to read.
const (
	opcodeRead  = 15
	offReadSize = 16
)

// A Request is one that the kernel asks, in the entry where it came. It belongs
// to the handler until that answers it: no copy of it and nothing that its slices
// hold may be used later.
//
// Header, Arg and In are what /dev/fuse gives in one piece: struct fuse_in_header,
// the operation's own structure (or nothing, where it has none), and what follows
// (names, data). Out is where the answer goes, without fuse_out_header: it lies
// over In, so whoever writes there must be done with reading.
type Request struct {
	Header []byte // struct fuse_in_header, 40 bytes
	Arg    []byte // the operation's structure, in 128 bytes
	In     []byte // names or data, as many bytes as there are
	Out    []byte // the whole payload buffer, Config.Payload bytes

	// Immutable after New.
	home  *worker // of the queue
	head  []byte  // the entry's slot
	queue int     // the CPU whose queue it is
	index int     // in Rings.requests

	waits  atomic.Bool   // in a backlog
	answer int           // bytes in Out; belongs to whom the request belongs
	errno  syscall.Errno // likewise
	next   *Request      // in the list home.completed; guarded by its CAS
}

// A Verdict is what a handler says about a request.
type Verdict int

const (
	// Answered: Answer or Refuse has been called, send it.
	Answered Verdict = iota
	// Later: somebody calls [Rings.Complete] when the answer is there. The
	// queue goes on with its other entries meanwhile.
	Later
)

// Opcode is the operation, FUSE_READ and so on.
func (r *Request) Opcode() uint32 { return binary.NativeEndian.Uint32(r.Header[4:]) }

// Unique is the request's number.
func (r *Request) Unique() uint64 { return binary.NativeEndian.Uint64(r.Header[8:]) }

// Node is the inode that the operation is about.
func (r *Request) Node() uint64 { return binary.NativeEndian.Uint64(r.Header[16:]) }

// Answer says that the operation succeeded, and that n bytes of Out are its answer.
func (r *Request) Answer(n int) { r.answer, r.errno = n, 0 }

// Refuse says that the operation failed.
func (r *Request) Refuse(errno syscall.Errno) { r.answer, r.errno = 0, errno }

// arrived makes the slices tell what has come.
func (r *Request) arrived() {
	n := int(binary.NativeEndian.Uint32(r.head[offPayloadLen:]))
	r.In = r.Out[:min(n, len(r.Out))]
	r.Refuse(syscall.EIO) // for a handler that says Answered and did not answer
}

// work estimates what it takes to answer: the bytes of a read or a write, and a
// little for any request.
func (r *Request) work() int {
	n := len(r.In)
	if r.Opcode() == opcodeRead {
		n = int(binary.NativeEndian.Uint32(r.Arg[offReadSize:]))
	}
	return n + 512
}

// seal writes the answer's header. The request's number stays where it is: it is
// at the same place in both headers.
func (r *Request) seal() (commitID uint64) {
	binary.NativeEndian.PutUint32(r.head[0:], uint32(outHeaderSize+r.answer))
	binary.NativeEndian.PutUint32(r.head[4:], uint32(-int32(r.errno)))
	binary.NativeEndian.PutUint32(r.head[offPayloadLen:], uint32(r.answer))
	return binary.NativeEndian.Uint64(r.head[offCommitID:])
}
