// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/telemetry"
)

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

// A connection is one of a device's two, with all that answers its requests.
type connection struct {
	kind     connectionKind       // immutable
	device   int                  // descriptor; immutable
	fs       *fileSystem          // immutable
	protocol *fuse.ProtocolServer // answers all but page requests
	// agreed is closed once INIT is answered; flags, the negotiated capabilities, is immutable
	// then.
	agreed    chan struct{}
	agreeOnce sync.Once
	initiated atomic.Bool // go-fuse has handled INIT
	flags     uint64
	busy      atomic.Int32                              // threads that carry a request out
	lone      func(time.Time)                           // Config.Lone; nil for attributes; immutable
	failed    func(telemetry.Op, uint64, syscall.Errno) // Config.Failed; as lone
	requests  requests                                  // immutable view
	stopping  *atomic.Bool                              // of the server
	threads   []*thread                                 // immutable
	// turns limits the threads that wait for requests or work on them to fewer than all: the kernel
	// wakes the thread that has waited longest, so more threads than processors would only make
	// caches cold. A thread that waits for memory gives its turn to a sleeping one.
	turns   chan struct{}
	running sync.WaitGroup
}

// connect makes one of the two connections. It starts no thread.
func (s *Server) connect(kind connectionKind, device *os.File, cfg Config, t tree, transfer int) (*connection, error) {
	slots, err := s.requests.slots(kind)
	if err != nil {
		return nil, err
	}
	fs := newFileSystem(cfg, t)
	fs.extraDevices = func() ExtraDevices { return ExtraDevices(s.extraDevices.Load()) }
	fs.maxLong = int32(len(slots) - 1)
	c := &connection{
		kind: kind, device: int(device.Fd()), fs: fs, protocol: fuse.NewProtocolServer(fs, protocolOptions(cfg, transfer)),
		agreed: make(chan struct{}), requests: s.requests, stopping: &s.stopping,
	}
	for i, slot := range slots {
		t := &thread{c: c, slot: slot}
		t.page.beforeWait = t.stall
		if kind == dataConnection && i < s.counters.Area.Slots() {
			t.account = s.counters.Area.Slot(i)
		}
		c.threads = append(c.threads, t)
	}
	turns := len(slots)
	if kind == dataConnection {
		turns = max(min(turns-waitingOf(turns), dataTurns()), 1)
	}
	if kind == dataConnection {
		c.lone, c.failed = cfg.FaultSeen, cfg.Failed
	}
	c.turns = make(chan struct{}, turns)
	for range turns {
		c.turns <- struct{}{}
	}
	return c, nil
}

// agreement bounds the wait for INIT, which the kernel sends when a mount is made.
const agreement = 20 * time.Second

// awaitInit waits until INIT is answered or the connection has ended.
func (c *connection) awaitInit(ended <-chan struct{}) error {
	select {
	case <-c.agreed: // first, because a device may end before its new server has begun
		return nil
	default:
	}
	select {
	case <-c.agreed:
		return nil
	case <-ended:
		return fmt.Errorf("negotiate the %v connection: %w", c.kind, ErrEnded)
	case <-time.After(agreement):
		return fmt.Errorf("negotiate the %v connection: the kernel said nothing for %v", c.kind, agreement)
	}
}

// start starts all threads. A predecessor's requests for attributes are finished first, but only
// now: the process that has started the server shows control/status, and can once the server
// starts.
func (c *connection) start() {
	c.running.Go(func() {
		if c.kind == attributeConnection {
			if err := c.finish(); err != nil {
				c.fs.logf("%v", err) // the connection has ended, as the threads will see
			}
		}
		for _, t := range c.threads {
			c.running.Go(func() {
				t.finishLate()
				t.serve()
			})
		}
	})
}

// count updates the number of open data files after a successful OPEN or RELEASE.
func (c *connection) count(s *slot, op uint32, m message) {
	if c.kind != dataConnection || m.node() != dataNode {
		return
	}
	switch op {
	case opOpen:
		s.countHandle(m.unique(), 1)
	case opRelease:
		s.countHandle(m.unique(), -1)
	}
}

// negotiated takes the negotiated flags from the answer to INIT (flags and flags2 of
// fuse_init_out).
func (c *connection) negotiated(answer []byte) {
	const flags, flags2 = outHeaderSize + 12, outHeaderSize + 32
	if len(answer) < flags2+4 || binary.LittleEndian.Uint32(answer[4:]) != 0 {
		return
	}
	c.agreeOnce.Do(func() {
		c.flags = uint64(binary.LittleEndian.Uint32(answer[flags:]))
		if c.flags&fuse.CAP_INIT_EXT != 0 {
			c.flags |= uint64(binary.LittleEndian.Uint32(answer[flags2:])) << 32
		}
		close(c.agreed)
	})
}

// interrupt makes the connection's threads return from read(2).
func (c *connection) interrupt() {
	for _, t := range c.threads {
		if tid := t.tid.Load(); tid != 0 {
			if err := unix.Tgkill(unix.Getpid(), int(tid), preemption); err != nil && err != unix.ESRCH { // it has ended
				c.fs.logf("interrupt thread %d: %v", tid, err)
			}
		}
	}
}
