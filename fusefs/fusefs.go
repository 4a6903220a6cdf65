// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

// This file is what users of the package see, with Session (session_linux.go) and Server
// (server_linux.go).

// Errors of sessions and servers; match them with errors.Is. The kernel's answer is in the chain
// too, as a syscall.Errno: EPERM and EACCES also match fs.ErrPermission, ENOENT matches
// fs.ErrNotExist.
var (
	// ErrConfig: a Config is incomplete or contradicts itself; the message says why.
	ErrConfig = errors.New("bad mount configuration")
	// ErrMounted: the mount point has a zramfs already.
	ErrMounted = errors.New("a zramfs is mounted there already")
	// ErrInUse: the device cannot be removed, because a process has its file open or works below
	// the mount point, or because another mount namespace has a copy of the mount.
	ErrInUse = errors.New("still in use")
	// ErrEnded: the connection ended before the negotiation with the kernel was complete.
	ErrEnded = errors.New("the kernel has ended the connection")
)

// Config says what to serve.
type Config struct {
	// Store holds the device's pages. The caller closes it, after the server has ended.
	Store *store.Store
	// Algorithm is what the device was made with. Its dictionary, if it has one, is the only one
	// that comp_algorithm takes.
	Algorithm codec.Algorithm
	// Status returns the contents of control/status, for each open anew. loops is the contents
	// of control/loops. Status runs inside a request: neither it nor anything it waits for may
	// touch the mount. If nil, the file is empty.
	Status func(loops []string) ([]byte, error)
	// Noted is called after a write to control/loops: the writer is about to hide the data
	// file. It must not block. May be nil.
	Noted func()
	// Begin is called once what a predecessor left is finished, before other requests are served.
	// It must not block. May be nil.
	Begin func()
	// FaultSeen is called with the time of each request for pages that found no other under way and
	// came after a pause, as those of page faults do. It is on the page path: it must neither block
	// nor allocate. May be nil.
	FaultSeen func(now time.Time)
	// Uninitialised means that the device has no size yet: what Store holds is never shown.
	Uninitialised bool
	// Image is the number of what Store is made of, which Session.Image returns once the server may
	// have answered a request. 0 is for a session with one image.
	Image uint64
	// Resize has the device made anew with a size in bytes, 0 for none, and empty, by another
	// server of the same files. It returns an error where that cannot be done, which answers the
	// request for it, and ErrLeft once this server is to stop; the next server calls it with the
	// same request then. If nil, the device keeps its size.
	Resize func(request, size uint64) error
	// Backing returns the path of the backing device, which Store writes pages back to; empty for
	// none. May be nil.
	Backing func() string
	// SetBacking opens one for a device that has no size yet, in place of the one before. It
	// returns ErrLeft once this server is to stop; the next server calls it with the same request
	// then. It is needed where Uninitialised.
	SetBacking func(request uint64, path string) error
	// Add makes an extra device of the directory and returns its number; Remove ends a device
	// without a user. Both return ErrLeft once this server is to stop; the next server calls them
	// with the same request then. If nil, there are no extra devices.
	Add    func(request uint64) (number int, err error)
	Remove func(request uint64, number int) error
	// Logf logs one message a call, from any goroutine. It must not block: a request may be
	// waiting. If nil, messages are discarded.
	Logf func(format string, args ...any)
	// Failed is called for each request for pages that ended in an error, once it is answered. It
	// is on the page path, as Lone is. May be nil.
	Failed func(op telemetry.Op, page uint64, errno syscall.Errno)
	// LowPriority does work that no request for pages waits for, on a thread that others go before,
	// and returns when it is done. If nil, the server does it on any thread.
	LowPriority func(work func())
	// Counters takes what is counted, see Files.Counters. If nil, the server has counters of its
	// own. The caller closes it, after the server has ended.
	Counters *Counters
	// NoResend leaves FUSE_HAS_RESEND out of the negotiation, as with a kernel before 6.9: a
	// successor then has only the memory of requests.
	NoResend bool
}

// Files are what a device's server needs and its successor inherits: the two connections with the
// kernel, and the memory of requests under way.
type Files struct {
	Attributes, Data, Requests *os.File
}

// MaxWaiting is how many of a server's requests may wait for memory at a time while others are
// read: store.Config takes it. It fails if no server of this program can carry on with the files.
// It changes nothing.
func (f Files) MaxWaiting() (int, error) {
	mem, err := mapRequests(f.Requests)
	if err != nil {
		return 0, err
	}
	r := requests{mem}
	shape, err := r.shape()
	return waitingOf(shape.data), errors.Join(err, r.unmap())
}

// Negotiated are the facts of a device that the kernel had a say in.
type Negotiated struct {
	// Connection is the number of the data file's FUSE connection: its directory in
	// /sys/fs/fuse/connections, where writing to the file abort ends it.
	Connection int
	// AsyncDIO reports whether the kernel carries out several direct I/O requests at a time.
	// Without it a loop device does one request after the other.
	AsyncDIO bool
	// Resend reports whether the kernel sends unanswered requests to a successor again (Linux
	// 6.9). The memory of requests has them as well.
	Resend bool
	// MaxWrite is the most bytes that one read or write request carries.
	MaxWrite int
	// MaxBackground is how many asynchronous requests the kernel lets wait.
	MaxBackground int
	// Threads is how many requests on the data file are worked on at once.
	Threads int
}

// MountNumber returns the number of the device that is mounted on dir, which is absolute and free
// of symbolic links, or 0 where none is. It sends no request. No other mount has the number as
// long as this one exists anywhere.
func MountNumber(dir string) (int, error) {
	top, err := topMount(dir)
	if err != nil || top == nil || top.FSType != typeName {
		return 0, err
	}
	return top.Minor, nil
}

// Workers is how many workers the store of a server needs: store.Config takes it.
func Workers() int { return dataThreads() }

// Processors is the least GOMAXPROCS of a process that serves: a thread keeps a processor while it
// waits for a request, and the rest of the process needs some too.
func Processors() int { return dataTurns() + attributeThreads + 2 + runtime.NumCPU() }
