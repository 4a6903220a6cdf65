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
	// typeName and sourceName are what the mount table shows.
	typeName   = "fuse.zramfs"
	sourceName = "zram0"

	// wantWrite is the largest request asked for, in bytes; the kernel's default
	// limit (fs.fuse.max_pages_limit) is the same.
	wantWrite = 1 << 20
	// background is how many asynchronous requests may wait for us. A loop
	// device has 128; its worker blocks when there are more than this, so there
	// is room for several.
	background = 1024

	// extraCapabilities are asked for beside those that go-fuse always asks for.
	// Without ASYNC_DIO a loop device has one request under way.
	extraCapabilities = fuse.CAP_ASYNC_DIO
)

// mountOptions says what is asked of the kernel and of go-fuse.
func mountOptions(cfg Config) *fuse.MountOptions {
	maxWrite := maxWrite()
	return &fuse.MountOptions{
		Name:   typeName,
		FsName: sourceName,
		Logger: log.New(lineWriter(cfg.Logf), "", 0),
		PanicHandler: func(cause any) fuse.Status {
			cfg.Logf("panic while serving a request, answered with EIO: %v\n%s", cause, debug.Stack())
			return fuse.EIO
		},

		MaxWrite:                maxWrite,
		MaxBackground:           background,
		CongestionThreshold:     background,
		MaxInflightRequestBytes: requestsAtOnce() * (maxWrite + 64<<10),

		ExtraCapabilities: extraCapabilities,
		// AUTO_INVAL_DATA asks for attributes before reads. PASSTHROUGH counts
		// as a layer of stacked file systems, of which the kernel allows two.
		DisabledCapabilities: fuse.CAP_AUTO_INVAL_DATA | fuse.CAP_PASSTHROUGH,
		DisableReadDirPlus:   true,
		// Extended attributes: else each write asks for security.capability.
		DisableXAttrs: true,
		// Splicing takes pages from the machine in the middle of a request.
		DisableSplice: true,
	}
}

// requestsAtOnce bounds the requests that go-fuse holds. Each write takes a
// buffer of the largest size, however small it is, and handlers that wait for
// memory pile up: unbounded, that is a GiB at the worst time. The store never
// works on more than twice the processors' number.
func requestsAtOnce() int {
	return min(max(4*runtime.GOMAXPROCS(0), 16), 64)
}

// A lineWriter passes what go-fuse logs on.
type lineWriter func(format string, args ...any)

// Write takes one message, as package log writes it.
func (w lineWriter) Write(line []byte) (int, error) {
	w("fuse: %s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
