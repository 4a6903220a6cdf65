// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"syscall"
)

// The part of the kernel's include/uapi/linux/fuse.h that the page path needs. The byte order is
// the machine's; both supported architectures are little-endian.

const (
	inHeaderSize  = 40 // struct fuse_in_header
	outHeaderSize = 16 // struct fuse_out_header
	// argumentSize is the size of fuse_read_in and of fuse_write_in.
	argumentSize = 40
	// fallocateSize is the size of fuse_fallocate_in.
	fallocateSize = 32
	// writeOutSize is the size of fuse_write_out.
	writeOutSize = 8

	uniqueOffset = 8 // of fuse_in_header.unique and of fuse_out_header.unique
)

// Values of enum fuse_opcode.
const (
	opOpen      = 14
	opRead      = 15
	opWrite     = 16
	opRelease   = 18
	opFsync     = 20
	opInit      = 26
	opInterrupt = 36
	opPoll      = 40
	opFallocate = 43
)

// codeInvalidateInode is FUSE_NOTIFY_INVAL_INODE of the same enum, and invalidateSize the size of
// fuse_notify_inval_inode_out: the number of an inode, an offset and a length.
const (
	codeInvalidateInode = 2
	invalidateSize      = 24
)

// codePoll is FUSE_NOTIFY_POLL of the same enum. pollSize is the size of fuse_poll_in: handle,
// number of the file, flags and events; pollNotify is FUSE_POLL_SCHEDULE_NOTIFY of the flags, and
// pollOutSize the size of fuse_poll_out.
const (
	codePoll    = 1
	pollSize    = 24
	pollNotify  = 1
	pollOutSize = 8
)

// codeResend is FUSE_NOTIFY_RESEND of enum fuse_notify_code: the kernel sends unanswered requests
// again (Linux 6.9).
const codeResend = 7

// message is a request as the kernel sends it.
type message []byte

func (m message) opcode() uint32 { return binary.LittleEndian.Uint32(m[4:]) }
func (m message) unique() uint64 { return binary.LittleEndian.Uint64(m[uniqueOffset:]) }
func (m message) node() uint64   { return binary.LittleEndian.Uint64(m[16:]) }

// transfer returns the offset and the size of fuse_read_in and fuse_write_in,
// which begin alike.
func transfer(argument []byte) (offset uint64, size uint32) {
	return binary.LittleEndian.Uint64(argument[8:]), binary.LittleEndian.Uint32(argument[16:])
}

// rangeOf returns the fields of fuse_fallocate_in.
func rangeOf(argument []byte) (offset, length uint64, mode uint32) {
	return binary.LittleEndian.Uint64(argument[8:]), binary.LittleEndian.Uint64(argument[16:]), binary.LittleEndian.Uint32(argument[24:])
}

// errnoOf returns the error number in an answer.
func errnoOf(answer []byte) syscall.Errno {
	return syscall.Errno(-int32(binary.LittleEndian.Uint32(answer[4:])))
}

// putOutHeader writes fuse_out_header for an answer with a body of n bytes.
func putOutHeader(p []byte, unique uint64, errno syscall.Errno, n int) {
	binary.LittleEndian.PutUint32(p, uint32(outHeaderSize+n))
	binary.LittleEndian.PutUint32(p[4:], uint32(-int32(errno)))
	binary.LittleEndian.PutUint64(p[uniqueOffset:], unique)
}

// putWriteOut writes fuse_write_out.
func putWriteOut(p []byte, n int) {
	binary.LittleEndian.PutUint32(p, uint32(n))
	binary.LittleEndian.PutUint32(p[4:], 0)
}
