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
	// typeName, dataTypeName and sourceName are what the mount table shows.
	typeName     = "fuse.zramfs"
	dataTypeName = "fuse.zramfs-data"
	sourceName   = "zram0"

	// wantWrite is the largest request asked for, in bytes. Each thread has a slot of that
	// size, present from the start. A larger one saves the kernel little: four requests of
	// this size are carried out side by side.
	wantWrite = 256 << 10
	// mostWrite is what sessions of earlier versions have.
	mostWrite = 1 << 20
	// background is how many asynchronous requests may wait for us. A loop
	// device has 128; its worker blocks when there are more than this, so there
	// is room for several.
	background = 1024

	// capResend is FUSE_HAS_RESEND: we may tell the kernel to send again what a
	// predecessor did not answer.
	capResend = 1 << 39
	// extraCapabilities are asked for beside those that go-fuse always asks for.
	// Without ASYNC_DIO a loop device has one request under way. DIRECT_IO_ALLOW_MMAP
	// lets the data file be mapped shared (Linux 6.6): the kernel then writes the
	// pages of mappings back before direct I/O and drops them after.
	extraCapabilities = fuse.CAP_ASYNC_DIO | fuse.CAP_DIRECT_IO_ALLOW_MMAP | capResend

	// attributeThreads: one more than can be waiting for the device to be ready.
	attributeThreads = 2
)

// dataTurns is how many threads wait for the data file's requests, or work on
// them, at a time.
func dataTurns() int { return min(max(runtime.NumCPU(), 2), 14) }

// dataThreads is how many there are. While some wait for memory others must be
// there for reads, so at most MaxWaiting of them may.
func dataThreads() int { return min(2*dataTurns(), 16) }

// waitingOf is how many of so many threads may wait for memory: for each turn there is
// one that does not. There may be fewer threads than processors ask for: the session
// may be older than some of these.
func waitingOf(threads int) int { return max(min(dataThreads()-dataTurns(), threads/2), 1) }

// protocolOptions says what is asked of the kernel, and of go-fuse, which
// negotiates and carries out what is rare.
func protocolOptions(cfg Config, transfer int, rings bool) *fuse.MountOptions {
	extra := uint64(extraCapabilities)
	if rings {
		extra |= capRing
	}
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
		// AUTO_INVAL_DATA asks for attributes before reads. PASSTHROUGH counts
		// as a layer of stacked file systems, of which the kernel allows two.
		DisabledCapabilities: fuse.CAP_AUTO_INVAL_DATA | fuse.CAP_PASSTHROUGH,
		DisableReadDirPlus:   true,
		// Extended attributes: else each write asks for security.capability.
		DisableXAttrs: true,
	}
}

// A lineWriter passes what go-fuse logs on.
type lineWriter func(format string, args ...any)

// Write takes one message, as package log writes it.
func (w lineWriter) Write(line []byte) (int, error) {
	w("fuse: %s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
