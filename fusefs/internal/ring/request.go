// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"sync/atomic"
	"syscall"
)

// The head of an entry, struct fuse_uring_req_header of include/uapi/linux/fuse.h: 128 bytes in
// which the kernel leaves the fuse_in_header and reads our fuse_out_header, 128 bytes for the
// operation's first argument, and struct fuse_uring_ent_in_out. After it, in the same slot, we keep
// the two iovecs for REGISTER, and the state for a successor.
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

// FUSE_READ, and the offset of the size in struct fuse_read_in.
const (
	opcodeRead  = 15
	offReadSize = 16
)

// A Request is a request of the kernel, in the entry where it arrived. It belongs to the handler
// until that returns; neither it nor the contents of its slices may be used later.
//
// Header, Arg and In are what /dev/fuse gives in one piece: struct fuse_in_header, the operation's
// own structure (or nothing, where it has none), and what follows (names, data). Out is for the
// answer, without fuse_out_header. It overlaps In: a handler reads In before it writes Out.
type Request struct {
	Header []byte // struct fuse_in_header, 40 bytes
	Arg    []byte // the operation's structure, in 128 bytes
	In     []byte // names or data
	Out    []byte // the whole payload buffer, Config.Payload bytes

	// Immutable after New.
	home  *worker // of the queue
	head  []byte  // the entry's slot
	queue int     // number of the queue's CPU
	index int     // in Rings.requests

	waits  atomic.Bool   // in a backlog
	answer int           // bytes in Out; the handler's
	errno  syscall.Errno // likewise
	next   *Request      // in the list home.completed; guarded by its CAS
}

// Opcode returns the operation, FUSE_READ and so on.
func (r *Request) Opcode() uint32 { return binary.NativeEndian.Uint32(r.Header[4:]) }

// Unique returns the request's number.
func (r *Request) Unique() uint64 { return binary.NativeEndian.Uint64(r.Header[8:]) }

// Node returns the inode that the operation is about.
func (r *Request) Node() uint64 { return binary.NativeEndian.Uint64(r.Header[16:]) }

// Answer makes the request succeed: n bytes of Out are the answer.
func (r *Request) Answer(n int) { r.answer, r.errno = n, 0 }

// Refuse makes the request fail.
func (r *Request) Refuse(errno syscall.Errno) { r.answer, r.errno = 0, errno }

// arrived sets the slices to the request that has arrived.
func (r *Request) arrived() {
	n := int(binary.NativeEndian.Uint32(r.head[offPayloadLen:]))
	r.In = r.Out[:min(n, len(r.Out))]
	r.Refuse(syscall.EIO) // in case the handler does not answer
}

// work estimates the cost of the request: the bytes of a read or a write, and a constant.
func (r *Request) work() int {
	n := len(r.In)
	if r.Opcode() == opcodeRead {
		n = int(binary.NativeEndian.Uint32(r.Arg[offReadSize:]))
	}
	return n + 512
}

// seal writes the answer's header. The request's number is at the same place in both headers and
// stays.
func (r *Request) seal() (commitID uint64) {
	binary.NativeEndian.PutUint32(r.head[0:], uint32(outHeaderSize+r.answer))
	binary.NativeEndian.PutUint32(r.head[4:], uint32(-int32(r.errno)))
	binary.NativeEndian.PutUint32(r.head[offPayloadLen:], uint32(r.answer))
	return binary.NativeEndian.Uint64(r.head[offCommitID:])
}
