// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"syscall"
	"time"
)

// The operations that the test's file system knows (enum fuse_opcode of
// include/uapi/linux/fuse.h).
const (
	opLookup     = 1
	opGetattr    = 3
	opOpen       = 14
	opReadFile   = 15
	opWriteFile  = 16
	opStatfs     = 17
	opRelease    = 18
	opFsync      = 20
	opInit       = 26
	opFallocate  = 43
	opForget     = 2
	opInterrupt  = 36
	opForgets    = 42
	rootNode     = 1
	fileNode     = 2
	fileName     = "data"
	forEver      = 1 << 30 // seconds
	openDirect   = 1 | 1<<6
	attrSize     = 88
	initOutSize  = 64
	maxWrite     = 1 << 20
	backgroundN  = 1024
	overIOUring  = 1 << (41 - 32)
	wantedFlags  = 1<<15 | 1<<0 | 1<<5 | 1<<22 | 1<<30 // ASYNC_DIO, ASYNC_READ, BIG_WRITES, MAX_PAGES, INIT_EXT
	readArgSize  = 40
	writeArgSize = 40
)

// A memoryFile is a file system of one file, in memory.
type memoryFile struct {
	data []byte
	cost time.Duration // to spend on each 4 KiB, as a codec does
}

var order = binary.NativeEndian

// argSize is how long the operation's own structure is, which /dev/fuse puts
// before names and data.
func argSize(opcode uint32) int {
	switch opcode {
	case opReadFile, opWriteFile:
		return readArgSize
	case opOpen:
		return 8
	case opGetattr, opFsync:
		return 16
	}
	return 0
}

// answer carries an operation out. out may lie over in.
func (f *memoryFile) answer(opcode uint32, node uint64, arg, in, out []byte) (int, syscall.Errno) {
	switch opcode {
	case opLookup:
		if string(in) != fileName+"\x00" {
			return 0, syscall.ENOENT
		}
		clear(out[:40])
		order.PutUint64(out[0:], fileNode)
		order.PutUint64(out[16:], forEver)
		order.PutUint64(out[24:], forEver)
		return 40 + f.attr(fileNode, out[40:]), 0
	case opGetattr:
		clear(out[:16])
		order.PutUint64(out[0:], forEver)
		return 16 + f.attr(node, out[16:]), 0
	case opOpen:
		clear(out[:16])
		order.PutUint32(out[8:], openDirect)
		return 16, 0
	case opReadFile, opWriteFile:
		return f.io(opcode, arg, in, out)
	case opStatfs:
		clear(out[:80])
		order.PutUint32(out[40:], 4096)
		order.PutUint32(out[44:], 255)
		order.PutUint32(out[48:], 4096)
		return 80, 0
	case opRelease, opFsync:
		return 0, 0
	}
	return 0, syscall.ENOSYS
}

func (f *memoryFile) attr(node uint64, out []byte) int {
	clear(out[:attrSize])
	order.PutUint64(out[0:], node)
	mode := uint32(syscall.S_IFDIR | 0o755)
	if node == fileNode {
		mode = syscall.S_IFREG | 0o600
		order.PutUint64(out[8:], uint64(len(f.data)))
		order.PutUint64(out[16:], uint64(len(f.data)/512))
	}
	order.PutUint32(out[60:], mode)
	order.PutUint32(out[64:], 1)
	order.PutUint32(out[80:], 4096)
	return attrSize
}

func (f *memoryFile) io(opcode uint32, arg, in, out []byte) (int, syscall.Errno) {
	from, n := order.Uint64(arg[8:]), int(order.Uint32(arg[16:]))
	if from > uint64(len(f.data)) {
		return 0, syscall.EINVAL
	}
	if f.cost > 0 {
		for end := time.Now().Add(f.cost * time.Duration((n+4095)/4096)); time.Now().Before(end); {
		}
	}
	if opcode == opReadFile {
		return copy(out[:n], f.data[from:]), 0
	}
	if len(in) != n || copy(f.data[from:], in) != n {
		return 0, syscall.ENOSPC
	}
	clear(out[:8])
	order.PutUint32(out, uint32(n))
	return 8, 0
}
