// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"zramfs/codec"
	"zramfs/store"
)

// Errors of Mount and Unmount; match them with errors.Is. What the kernel
// answered is in the chain too, as a syscall.Errno: EPERM and EACCES also match
// fs.ErrPermission, ENOENT matches fs.ErrNotExist.
var (
	// ErrConfig: a Config that cannot be; the message says why.
	ErrConfig = errors.New("bad mount configuration")
	// ErrMounted: the mount point has a zramfs already.
	ErrMounted = errors.New("a zramfs is mounted there already")
	// ErrInUse: the mount cannot go, because somebody has a file in it open or
	// works in it, or because another mount namespace has a copy of it.
	ErrInUse = errors.New("still in use")
)

// Config says what to serve, and where.
type Config struct {
	// Dir is the mount point, an existing directory.
	Dir string
	// Store holds the device's pages. The caller closes it, after Serve.
	Store *store.Store
	// Algorithm is what block/zram0/comp_algorithm shows as chosen.
	Algorithm codec.Algorithm
	// Status makes the contents of control/status, anew at each open. It runs
	// inside a request: it must not touch the mount, and what it waits for must
	// not either. Nil leaves the file empty.
	Status func() ([]byte, error)
	// Logf takes what there is to say, one message a call, from any goroutine.
	// It must not block: a request may be waiting. Nil discards.
	Logf func(format string, args ...any)
	// AllowOther lets users other than the one who mounts in, as far as modes
	// allow (mount option allow_other). In a user namespace it lets in those who
	// are in that namespace.
	AllowOther bool
}

// Settings are the facts of a mount that the kernel had a say in.
type Settings struct {
	// Connection is the number of the FUSE connection: its directory in
	// /sys/fs/fuse/connections, where writing to the file abort ends it.
	Connection int
	// AsyncDIO tells whether direct I/O of many requests goes on at a time.
	// Without it a loop device does one request after the other.
	AsyncDIO bool
	// MaxWrite is the most bytes one read or write request carries.
	MaxWrite int
	// MaxBackground is how many asynchronous requests the kernel lets wait.
	MaxBackground int
}

// A Server is one mounted device. Its methods are safe for concurrent use.
type Server struct {
	dir      string        // absolute, without symbolic links; immutable
	fs       *fileSystem   // immutable
	fuse     *fuse.Server  // immutable
	settings Settings      // immutable
	begun    atomic.Bool   // somebody serves, or has served
	ended    chan struct{} // closed when serving has ended
}

// Mount mounts the device on cfg.Dir, as type fuse.zramfs from zram0. The
// kernel holds requests back until Serve takes them.
func Mount(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Algorithm == (codec.Algorithm{}) {
		return nil, fmt.Errorf("%w: a store and its algorithm are needed", ErrConfig)
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	dir, err := mountPoint(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, fs: newFileSystem(cfg), ended: make(chan struct{})}
	device, err := mountFUSE(dir, cfg.AllowOther)
	if err != nil {
		return nil, err
	}
	// go-fuse takes the device over, and closes it where it fails.
	s.fuse, err = fuse.NewServer(s.fs, fmt.Sprintf("/dev/fd/%d", device), mountOptions(cfg))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("negotiate with the kernel: %w", err), detach(dir))
	}
	if s.settings, err = s.negotiated(); err != nil {
		go s.Serve() // until the detached mount is gone; it then closes the device
		return nil, errors.Join(err, detach(dir))
	}
	return s, nil
}

// Serve answers requests until the device is unmounted, by whomever, or its
// connection is aborted; in the latter case the dead mount is still there and
// Unmount removes it. A second call waits for the first to end.
func (s *Server) Serve() {
	if !s.begun.CompareAndSwap(false, true) {
		<-s.ended
		return
	}
	s.fuse.Serve()
	close(s.ended)
}

const (
	// unmountTries and unmountPause: the kernel tells us of a closed file, and
	// drops its own hold on it, after close(2) has returned.
	unmountTries = 10
	unmountPause = 30 * time.Millisecond
	// servingEnds is how long the last requests and the kernel may take once
	// the mount is gone.
	servingEnds = 10 * time.Second
)

// Unmount removes the mount and waits until serving has ended, whether or not
// Serve was called. It does nothing when the mount is gone. It fails with
// ErrInUse and leaves the device as it is while somebody uses it.
func (s *Server) Unmount() error {
	go s.Serve() // the kernel may ask something on the way
	for try := 1; ; try++ {
		err := s.unmount()
		if err == nil {
			break
		}
		if !errors.Is(err, ErrInUse) || try == unmountTries {
			return err
		}
		time.Sleep(unmountPause)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(servingEnds):
		return fmt.Errorf("unmount %s: %w: in another mount namespace, or below another mount", s.dir, ErrInUse)
	}
}

// Dir is the mount point, absolute and without symbolic links.
func (s *Server) Dir() string { return s.dir }

// OpenCount is how many handles on dev/zram0 are open now. The kernel reports a
// closed one a moment after close(2) has returned.
func (s *Server) OpenCount() int { return int(s.fs.opens.Load()) }

// Settings are what Mount agreed on with the kernel.
func (s *Server) Settings() Settings { return s.settings }
