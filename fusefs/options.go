// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"log"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	// typeName, dataTypeName and sourceName appear in the mount table.
	typeName     = "fuse.zramfs"
	dataTypeName = "fuse.zramfs-data"
	sourceName   = "zram0"

	// wantWrite is the largest request asked for, in bytes. Each thread has a slot of that size,
	// present from the start. A larger one gains little: four requests of this size are carried out
	// in parallel.
	wantWrite = 256 << 10
	// background is how many asynchronous requests may wait. A loop device has 128, and its worker
	// blocks when there are more than background, so there is room for several.
	background = 1024

	// capResend is FUSE_HAS_RESEND: a server may make the kernel send unanswered requests again.
	capResend = 1 << 39
	// extraCapabilities are asked for in addition to those that go-fuse always asks for. Without
	// ASYNC_DIO a loop device has one request under way. DIRECT_IO_ALLOW_MMAP allows shared
	// mappings of the data file (Linux 6.6): the kernel then writes the pages of mappings back
	// before direct I/O and drops them after.
	extraCapabilities = fuse.CAP_ASYNC_DIO | fuse.CAP_DIRECT_IO_ALLOW_MMAP | capResend

	// attributeThreads is one more than there can be requests that take long: a recompression, a
	// compaction, and an extra device that is made or ended.
	attributeThreads = 4
)

// dataTurns returns how many threads wait for the data file's requests, or work on them, at a time.
func dataTurns() int { return min(max(runtime.NumCPU(), 2), 14) }

// dataThreads returns how many there are. While some wait for memory others must be there for
// reads, so at most MaxWaiting of them may wait.
func dataThreads() int { return min(2*dataTurns(), 16) }

// waitingOf returns how many of n threads may wait for memory: each turn has a thread that does
// not. A session may have fewer threads than dataThreads, since processors come and go.
func waitingOf(n int) int { return max(min(dataThreads()-dataTurns(), n/2), 1) }

// protocolOptions returns what to ask of the kernel, and of go-fuse, which negotiates and answers
// all but page requests.
func protocolOptions(cfg Config, transfer int) *fuse.MountOptions {
	extra := uint64(extraCapabilities)
	if cfg.NoResend {
		extra &^= capResend
	}
	return &fuse.MountOptions{
		Name:   typeName,
		FsName: sourceName,
		Logger: log.New(lineWriter(cfg.Logf), "", 0),
		PanicHandler: func(cause any) fuse.Status {
			cfg.Logf("panic while serving a request, answered with EIO: %v\n%s", cause, debug.Stack())
			return fuse.EIO
		},

		MaxWrite:            transfer,
		MaxBackground:       background,
		CongestionThreshold: background,

		ExtraCapabilities: extra,
		// AUTO_INVAL_DATA would ask for attributes before reads. PASSTHROUGH counts as a layer of
		// stacked file systems; the kernel allows two.
		DisabledCapabilities: fuse.CAP_AUTO_INVAL_DATA | fuse.CAP_PASSTHROUGH,
		DisableReadDirPlus:   true,
		// Without this each write asks for security.capability.
		DisableXAttrs: true,
	}
}

// A lineWriter passes go-fuse's log on.
type lineWriter func(format string, args ...any)

// Write takes one message, as package log writes it.
func (w lineWriter) Write(line []byte) (int, error) {
	w("fuse: %s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
