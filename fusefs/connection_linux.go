// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs/internal/ring"
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

// A connection is one of a device's two, with what answers its requests.
type connection struct {
	kind     connectionKind       // immutable
	device   int                  // descriptor; immutable
	fs       *fileSystem          // immutable
	protocol *fuse.ProtocolServer // answers all but page requests
	// agreed is closed when the kernel and we have negotiated; flags, then
	// immutable, say what.
	agreed    chan struct{}
	agreeOnce sync.Once
	initiated atomic.Bool // go-fuse has heard INIT
	flags     uint64
	looking   atomic.Bool  // a thread looks for a request without sleeping
	busy      atomic.Int32 // threads that carry a request out
	requests  requests     // immutable view
	stopping  *atomic.Bool // of the server
	rings     *ring.Rings  // nil where there are none; immutable once Start has returned
	workers   []pageThread // of the rings, each belongs to its worker
	threads   []*thread    // immutable
	// turns are taken to wait for requests and to work on them. There are fewer
	// than threads: the kernel wakes whoever has waited longest, so that more than
	// the processors need only makes caches cold. A thread that waits for memory
	// gives its turn to one that has slept.
	turns   chan struct{}
	running sync.WaitGroup
}

func (s *Server) connect(kind connectionKind, device *os.File, cfg Config, t tree, transfer int, rings bool) (*connection, error) {
	slots, err := s.requests.slots(kind)
	if err != nil {
		return nil, err
	}
	fs := newFileSystem(cfg, t)
	c := &connection{
		kind: kind, device: int(device.Fd()), fs: fs, protocol: fuse.NewProtocolServer(fs, protocolOptions(cfg, transfer, rings)),
		agreed: make(chan struct{}), requests: s.requests, stopping: &s.stopping,
	}
	for _, slot := range slots {
		t := &thread{c: c, slot: slot}
		t.page.beforeWait = t.giveTurn
		c.threads = append(c.threads, t)
	}
	turns := len(slots)
	if kind == dataConnection {
		turns = max(min(turns-waitingOf(turns), dataTurns()), 1)
	}
	c.turns = make(chan struct{}, turns)
	for range turns {
		c.turns <- struct{}{}
	}
	return c, nil
}

// agreement bounds the wait for the kernel's first request, which it sends when a
// mount is made.
const agreement = 20 * time.Second

func (c *connection) awaitAgreement(ended <-chan struct{}) error {
	select {
	case <-c.agreed: // whatever has happened since: a device may end before its new server has begun
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

// start serves with all threads. Attributes that a predecessor was asked for come
// first, but only now: control/status is shown by whoever has started the server,
// and can be once that is done.
func (c *connection) start() {
	c.running.Go(func() {
		if c.kind == attributeConnection {
			if err := c.finish(); err != nil {
				c.fs.logf("%v", err) // it has ended, as the threads will hear
			}
		}
		for _, t := range c.threads {
			c.running.Go(t.serve)
		}
	})
}

// count keeps the account of open data files, of a request that has succeeded.
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

// agree learns from an answered INIT what both sides have agreed on: flags and
// flags2 of fuse_init_out.
func (c *connection) agree(answer []byte) {
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

// interrupt gets the connection's threads out of waiting.
func (c *connection) interrupt() {
	for _, t := range c.threads {
		if tid := t.tid.Load(); tid != 0 {
			if err := unix.Tgkill(unix.Getpid(), int(tid), preemption); err != nil && err != unix.ESRCH { // it has ended
				c.fs.logf("interrupt thread %d: %v", tid, err)
			}
		}
	}
}
