// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
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
		s.settings.Transport, s.settings.Threads = TransportUring, len(s.data.workers)
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

// Stop ends serving after the requests under way, and leaves those that come to a
// successor. The connections and mounts stay. After an error it goes on serving.
func (s *Server) Stop() error {
	s.stop.Lock()
	defer s.stop.Unlock()
	select {
	case <-s.ended:
		return nil
	default:
	}
	if err := s.restRings(); err != nil {
		return err
	}
	s.stopping.Store(true)
	s.awaitThreads()
	return nil
}

// fail ends serving for a reason: see Failure.
func (s *Server) fail(err error) {
	s.failure.Store(&err) // before anybody hears that the connection has ended
	s.stopping.Store(true)
	go s.awaitThreads()
}

// awaitThreads makes the threads notice that they are to end.
func (s *Server) awaitThreads() {
	for {
		select {
		case <-s.ended:
			return
		default:
		}
		// Again and again: a thread may have looked just before it was told, and not
		// be waiting yet.
		for _, c := range []*connection{s.attributes, s.data} {
			c.interrupt()
		}
		time.Sleep(time.Millisecond)
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

// TakeAway removes the attributes' mount where the session's process has died: what
// Unmount would do once the data file is gone. The server may call it.
func (s *Server) TakeAway(dir string) error {
	number := int(s.requests.word(wordConnection + int(attributeConnection)).Load())
	_, err := unmount(dir, typeName, number, unix.MNT_DETACH, s.OpenCount)
	return err
}

// Close lets go of the memory of requests, after serving has ended or where it
// never began.
func (s *Server) Close() error {
	if s.started {
		<-s.ended
	}
	return s.unmap()
}

func (s *Server) unmap() error {
	s.unmapped.Do(func() { s.unmapResult = errors.Join(s.requests.unmap(), s.ringMemory.unmap()) })
	return s.unmapResult
}
