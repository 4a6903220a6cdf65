// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/fusefs/internal/ring"
)

// A Server answers the requests of one device. Its methods are safe for
// concurrent use.
type Server struct {
	requests    requests    // immutable view
	attributes  *connection // immutable
	data        *connection // immutable
	settings    Settings    // immutable once Start has returned
	stop        sync.Mutex  // one stops at a time
	stopping    atomic.Bool // threads end after the request they are at
	failure     atomic.Pointer[error]
	started     bool          // immutable once Start has returned
	dataEnded   chan struct{} // closed when the kernel ended the data connection, or Stop did
	shownEnded  chan struct{} // the same for the attribute connection
	ended       chan struct{} // closed when no thread is left
	ringMemory  fixedMapping  // immutable once Start has begun
	unmapped    sync.Once
	unmapResult error // of unmapped
}

// A connection is one of a device's two, with what answers its requests.
type connection struct {
	kind   connectionKind       // immutable
	device int                  // descriptor; immutable
	fs     *fileSystem          // immutable
	rare   *fuse.ProtocolServer // everything but the page path
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
	paces     []pace       // of the rings' workers, each belongs to one
	asides    []func()     // likewise: what one does before it waits for memory; immutable
	threads   []*thread    // immutable
	// turns are taken to wait for requests and to work on them. There are fewer
	// than threads: the kernel wakes whoever has waited longest, so that more than
	// the processors need only makes caches cold. A thread that waits for memory
	// gives its turn to one that has slept.
	turns   chan struct{}
	running sync.WaitGroup
}

// NewServer makes a server of a session's files; it serves from Start on. The
// files may be copies, inherited by another process, and stay the caller's.
func NewServer(files Files, cfg Config) (_ *Server, err error) {
	if cfg.Store == nil || cfg.Algorithm == (codec.Algorithm{}) {
		return nil, fmt.Errorf("%w: a store and its algorithm are needed", ErrConfig)
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	mem, err := mapRequests(files.Requests)
	if err != nil {
		return nil, err
	}
	s := &Server{requests: requests{mem}, dataEnded: make(chan struct{}), shownEnded: make(chan struct{}), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.unmap())
		}
	}()
	shape, err := s.requests.shape()
	if err != nil {
		return nil, err
	}
	trees := attributeTree(attributesOf(cfg, s.loopsAttribute(cfg)))
	if s.attributes, err = s.connect(attributeConnection, files.Attributes, cfg, trees, attributeTransfer, false); err != nil {
		return nil, err
	}
	s.data, err = s.connect(dataConnection, files.Data, cfg, dataTree(), shape.transfer, shape.rings > 0)
	s.settings = Settings{
		Connection:    int(s.requests.word(wordConnection + int(dataConnection)).Load()),
		MaxWrite:      shape.transfer,
		Transport:     TransportDev,
		MaxBackground: background,
		Threads:       shape.data,
	}
	if err == nil && shape.rings > 0 {
		err = s.makeRings(shape, files.Requests)
	}
	return s, err
}

func (s *Server) connect(kind connectionKind, device *os.File, cfg Config, t tree, transfer int, rings bool) (*connection, error) {
	slots, err := s.requests.slots(kind)
	if err != nil {
		return nil, err
	}
	fs := newFileSystem(cfg, t)
	c := &connection{
		kind: kind, device: int(device.Fd()), fs: fs, rare: fuse.NewProtocolServer(fs, protocolOptions(cfg, transfer, rings)),
		agreed: make(chan struct{}), requests: s.requests, stopping: &s.stopping,
	}
	for _, slot := range slots {
		t := &thread{c: c, slot: slot}
		t.aside = t.giveTurn
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

// loopsAttribute is the file control/loops: the loop devices of a data file that
// is hidden, one a line, as who hid it has written them. It outlives the process.
func (s *Server) loopsAttribute(cfg Config) attribute {
	return attribute{
		dir: controlNode, name: "loops",
		show: func() ([]byte, error) { return s.requests.loops(), nil },
		set: func(text []byte) error {
			if !s.requests.setLoops(text) {
				return fmt.Errorf("%d bytes are too many, at most %d are taken", len(text), maxLoops)
			}
			if cfg.Noted != nil {
				cfg.Noted()
			}
			return nil
		},
	}
}

// OpenCount is as Session.OpenCount.
func (s *Server) OpenCount() int { return s.requests.handles() }

// RequestBytes is the size of the memory of requests, in bytes. All of it is present.
func (s *Server) RequestBytes() uint64 { return uint64(len(s.requests.mem)) }

// Settings are what was agreed on with the kernel. They are complete when Start
// has returned.
func (s *Server) Settings() Settings { return s.settings }

// agreement bounds the wait for the kernel's first request, which it sends when a
// mount is made.
const agreement = 20 * time.Second

// Start finishes what a predecessor began and starts serving. It returns when the
// kernel and we have agreed on the connections.
func (s *Server) Start() error {
	if err := interruptible(); err != nil {
		return errors.Join(fmt.Errorf("prepare to be interrupted: %w", err), s.unmap())
	}
	for _, c := range []*connection{s.attributes, s.data} {
		if err := c.carryOn(); err != nil {
			return errors.Join(err, s.unmap())
		}
	}
	s.started = true
	for _, c := range []*connection{s.attributes, s.data} {
		c.start()
	}
	go s.awaitEnd()
	for _, c := range []*connection{s.attributes, s.data} {
		if err := c.awaitAgreement(s.dataEnded); err != nil {
			return err
		}
	}
	if s.data.rings != nil {
		if err := s.startRings(); err != nil {
			return fmt.Errorf("serve by io_uring: %w", err)
		}
		s.settings.Transport, s.settings.Threads = TransportUring, len(s.data.paces)
	}
	s.settings.AsyncDIO = s.data.flags&fuse.CAP_ASYNC_DIO != 0
	s.settings.Resend = s.data.flags&capResend != 0
	// fs.fuse.max_user_bgreq bounds it for mounts in user namespaces. The file
	// can be read where fusectl is mounted.
	path := fmt.Sprintf("/sys/fs/fuse/connections/%d/max_background", s.settings.Connection)
	if n, err := readNumber(path); err == nil {
		s.settings.MaxBackground = n
	}
	return nil
}

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

func (s *Server) awaitEnd() {
	go func() {
		s.attributes.running.Wait()
		close(s.shownEnded)
	}()
	s.data.running.Wait()
	close(s.dataEnded)
	<-s.shownEnded
	close(s.ended)
}

// AttributesEnded is closed when the attributes cannot be reached any more. The
// data file may still be served.
func (s *Server) AttributesEnded() <-chan struct{} { return s.shownEnded }

// DataEnded is closed when the data file cannot be reached any more: its mount is
// gone and nobody has it open, or its connection was aborted, or Stop has taken
// effect, or serving has failed. The attributes may still be served.
func (s *Server) DataEnded() <-chan struct{} { return s.dataEnded }

// Failure is why serving has ended although the connections have not, or nil. Whoever
// uses the data file waits until they do: see Session.Abort.
func (s *Server) Failure() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Ended is closed when nothing is served any more.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Close lets go of the memory of requests, after serving has ended or where it
// never began.
func (s *Server) Close() error {
	if s.started {
		<-s.ended
	}
	return s.unmap()
}

func (s *Server) unmap() error {
	s.unmapped.Do(func() { s.unmapResult = errors.Join(unix.Munmap(s.requests.mem), s.ringMemory.unmap()) })
	return s.unmapResult
}
