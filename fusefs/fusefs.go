// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// Errors of sessions and servers; match them with errors.Is. What the kernel
// answered is in the chain too, as a syscall.Errno: EPERM and EACCES also match
// fs.ErrPermission, ENOENT matches fs.ErrNotExist.
var (
	// ErrConfig: a Config that cannot be; the message says why.
	ErrConfig = errors.New("bad mount configuration")
	// ErrMounted: the mount point has a zramfs already.
	ErrMounted = errors.New("a zramfs is mounted there already")
	// ErrInUse: the device cannot go, because somebody has its file open or works
	// beside it, or because another mount namespace has a copy of the mount.
	ErrInUse = errors.New("still in use")
	// ErrTransport: this machine does not have the transport that was asked for.
	ErrTransport = errors.New("no such transport here")
	// ErrEnded: the connection ended before the kernel and we had agreed.
	ErrEnded = errors.New("the kernel has ended the connection")
)

// Config says what to serve.
type Config struct {
	// Store holds the device's pages. The caller closes it, after the server has
	// ended.
	Store *store.Store
	// Algorithm is what block/zram0/comp_algorithm shows as chosen.
	Algorithm codec.Algorithm
	// Status makes the contents of control/status, anew at each open, of what the
	// file control/loops says. It runs inside a request: it must not touch the
	// mount, and what it waits for must not either. Nil leaves the file empty.
	Status func(loops []string) ([]byte, error)
	// Noted is called when control/loops was written: whoever did is about to hide
	// the data file. It must not block. Nil is nobody.
	Noted func()
	// Logf takes what there is to say, one message a call, from any goroutine.
	// It must not block: a request may be waiting. Nil discards.
	Logf func(format string, args ...any)
	// NoResend leaves FUSE_HAS_RESEND out of the negotiation, as with a kernel
	// before 6.9: a successor has the memory of requests alone.
	NoResend bool
}

// Files are what a device's server needs and its successor inherits: the two
// connections with the kernel, and the memory of requests under way.
type Files struct {
	Attributes, Data, Requests *os.File
}

// Settings are the facts of a device that the kernel had a say in.
type Settings struct {
	// Connection is the number of the data file's FUSE connection: its directory
	// in /sys/fs/fuse/connections, where writing to the file abort ends it.
	Connection int
	// AsyncDIO tells whether direct I/O of many requests goes on at a time.
	// Without it a loop device does one request after the other.
	AsyncDIO bool
	// Resend tells whether the kernel sends again what a predecessor did not
	// answer (Linux 6.9). The memory of requests knows it as well.
	Resend bool
	// MaxWrite is the most bytes one read or write request carries.
	MaxWrite int
	// MaxBackground is how many asynchronous requests the kernel lets wait.
	MaxBackground int
	// Transport is how the data file's requests come.
	Transport Transport
	// Threads is how many requests on the data file are worked on at once.
	Threads int
}

// A connectionKind is one of a device's two connections.
type connectionKind int

const (
	attributeConnection connectionKind = iota
	dataConnection
)

func (c connectionKind) String() string {
	if c == dataConnection {
		return "data"
	}
	return "attributes"
}
