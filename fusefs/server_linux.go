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
	"github.com/zramfs/zramfs/internal/killpoint"
)

// A Server answers the requests of one device. Its methods are safe for concurrent use.
type Server struct {
	requests     requests                                                    // immutable view
	image        uint64                                                      // immutable
	slots        int                                                         // immutable
	attributes   *connection                                                 // immutable
	settings     func() Settings                                             // immutable
	spill        func(age time.Duration, most int) (pages uint64, err error) // immutable
	data         *connection                                                 // immutable
	begin        func()                                                      // see Config.Begin; immutable
	negotiated   Negotiated                                                  // immutable once Start has returned
	resized      bool                                                        // the device was made anew at some time; immutable
	stopping     atomic.Bool                                                 // threads end after their current request
	extraDevices atomic.Uint64                                               // a Further
	pressure     *pressure                                                   // immutable
	started      bool                                                        // immutable once Start has returned
	dataEnded    chan struct{}                                               // closed when the kernel ended the data connection, or Stop did
	shownEnded   chan struct{}                                               // the same for the attribute connection
	ended        chan struct{}                                               // closed when all threads have ended
	counters     *Counters                                                   // immutable
	own          bool                                                        // the counters are the server's to close; immutable
	unmapped     sync.Once
	unmapResult  error // of unmapped
}

// NewServer makes a server of a session's files; it serves from Start on. The files may be copies
// in another process, and stay the caller's.
func NewServer(files Files, cfg Config) (_ *Server, err error) {
	if cfg.Store == nil || cfg.Algorithm == (codec.Algorithm{}) {
		return nil, fmt.Errorf("%w: a store and its algorithm are needed", ErrConfig)
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Begin == nil {
		cfg.Begin = func() {}
	}
	mem, err := mapRequests(files.Requests)
	if err != nil {
		return nil, err
	}
	s := &Server{requests: requests{mem}, image: cfg.Image, begin: cfg.Begin, dataEnded: make(chan struct{}), shownEnded: make(chan struct{}), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.unmap())
		}
	}()
	if s.counters = cfg.Counters; s.counters == nil {
		if s.counters, err = privateCounters(maxSlots / 2); err != nil {
			return nil, err
		}
		s.own = true
	}
	shape, err := s.requests.shape()
	if err != nil {
		return nil, err
	}
	s.slots = shape.attributes + shape.data
	shownFiles := &attributes{
		cfg: cfg, loops: s.loopsAttribute(cfg), streams: shape.data, inFlight: s.inFlight,
		stopping: s.stopping.Load, opens: s.OpenCount, closed: func(yes bool) { s.data.fs.closed.Store(yes) }, keep: s.requests.keepChosen,
		pressure: &pressure{words: s.requests.polled(), notify: func(kh uint64) { s.attributes.notifyPoll(kh) }},
	}
	s.pressure = shownFiles.pressure
	chosen, _, _ := s.requests.settings()
	shownFiles.chosen.Store(&chosen)
	s.settings = func() Settings { return *shownFiles.chosen.Load() }
	s.spill = shownFiles.spill
	if s.attributes, err = s.connect(attributeConnection, files.Attributes, cfg, attributeTree(shownFiles.all()), attributeTransfer); err != nil {
		return nil, err
	}
	s.attributes.fs.pressure = s.pressure
	s.data, err = s.connect(dataConnection, files.Data, cfg, dataTree(), shape.transfer)
	s.resized = chosen.Resized != 0
	s.negotiated = Negotiated{
		Connection:    int(s.requests.word(wordConnection + int(dataConnection)).Load()),
		MaxWrite:      shape.transfer,
		MaxBackground: background,
		Threads:       shape.data,
	}
	return s, err
}

// loopsAttribute is the file control/loops: the loop devices of a data file that is hidden, one a
// line, as the process that hid it wrote them. The text outlives the serving process.
func (s *Server) loopsAttribute(cfg Config) attribute {
	return attribute{
		dir: controlNode, name: "loops", mode: hidden,
		show: func() ([]byte, error) { return s.requests.loops(), nil },
		set: func(_ uint64, text []byte) error {
			if !s.requests.setLoops(text) {
				return fmt.Errorf("%d bytes, more than %d", len(text), maxLoops)
			}
			if cfg.Noted != nil {
				cfg.Noted()
			}
			return nil
		},
	}
}

// inFlight returns how many requests on the data file are under way.
func (s *Server) inFlight() int { return int(s.data.busy.Load()) }

// SetExtra says which extra devices there are.
func (s *Server) SetExtra(all ExtraDevices) { s.extraDevices.Store(uint64(all)) }

// SetFill says which share of the memory limit is in use, in per cent: 0, 80, 90 or 100. Programs
// that poll control/pressure are told of a change. It does not wait for any of them.
func (s *Server) SetFill(percent int) { s.pressure.set(percent) }

// ExtraDevices returns what SetExtra said last.
func (s *Server) ExtraDevices() ExtraDevices { return ExtraDevices(s.extraDevices.Load()) }

// Spill moves up to a number of pages to the backing device that were not accessed for age, the
// coldest of them, within writeback_limit, as the attribute writeback does, and returns how many it
// moved. It moves none while recompress or writeback is at work. It may be called until Close.
func (s *Server) Spill(age time.Duration, most int) (pages uint64, err error) {
	return s.spill(age, most)
}

// Spent returns how many pages Spill moved in the last 24 hours, and in up to four before: that of
// servers before this one too.
func (s *Server) Spent(now time.Time) (pages uint64) { return s.settings().spent(now) }

// OpenCount returns what Session.OpenCount does.
func (s *Server) OpenCount() int { return s.requests.handles(s.slots) }

// RequestBytes returns the size of the memory of requests, in bytes. All of it is present.
func (s *Server) RequestBytes() uint64 { return uint64(len(s.requests.mem)) }

// Negotiated returns what was negotiated with the kernel. It is complete once Start has returned.
func (s *Server) Negotiated() Negotiated { return s.negotiated }

// Start finishes a predecessor's requests and starts serving. It returns when both connections are
// negotiated.
func (s *Server) Start() error {
	if err := interruptible(); err != nil {
		return errors.Join(fmt.Errorf("prepare to be interrupted: %w", err), s.unmap())
	}
	s.requests.word(wordImage).Store(s.image) // before any answer
	killpoint.At("image published")
	for _, c := range []*connection{s.attributes, s.data} {
		if err := c.recover(); err != nil {
			return errors.Join(err, s.unmap())
		}
	}
	if s.resized {
		s.data.forgetSize() // before the request that asked for it is answered
	}
	s.started = true
	s.begin()
	s.data.fs.store.Stall(true) // not before: what a predecessor has left keeps all requests waiting
	for _, c := range []*connection{s.attributes, s.data} {
		c.start()
	}
	killpoint.At("server started")
	go s.awaitEnd()
	for _, c := range []*connection{s.attributes, s.data} {
		if err := c.awaitInit(s.dataEnded); err != nil {
			return err
		}
	}
	s.negotiated.AsyncDIO = s.data.flags&fuse.CAP_ASYNC_DIO != 0
	s.negotiated.Resend = s.data.flags&capResend != 0
	// fs.fuse.max_user_bgreq bounds it for mounts in user namespaces. The file is readable where
	// fusectl is mounted.
	path := fmt.Sprintf("/sys/fs/fuse/connections/%d/max_background", s.negotiated.Connection)
	if n, err := readNumber(path); err == nil {
		s.negotiated.MaxBackground = n
	}
	return nil
}

// WritebackLimit returns the number of pages that may yet be written back, and whether it counts.
func (s *Server) WritebackLimit() (pages uint64, limited bool) {
	c := s.settings()
	return c.WritebackLimit, c.WritebackLimited
}

// AttributesEnded returns a channel that is closed when the attributes are no longer reachable. The
// data file may still be served.
func (s *Server) AttributesEnded() <-chan struct{} { return s.shownEnded }

// DataEnded returns a channel that is closed when the data file is no longer reachable: its mount
// is gone and the last user has closed it, or the connection was aborted, or Stop has taken effect.
// The attributes may still be served.
func (s *Server) DataEnded() <-chan struct{} { return s.dataEnded }

// Ended returns a channel that is closed when all serving has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Stop ends serving after the requests under way; later requests wait for a successor. A write that
// stalls fails, since all requests would wait for it. Connections and mounts stay.
func (s *Server) Stop() {
	s.stopping.Store(true)
	s.data.fs.store.Stall(false)
	for {
		select {
		case <-s.ended:
			return
		default:
		}
		// Repeated, because a thread may have checked stopping just before it was set, and wait
		// only after the signal.
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

// TakeAway unmounts the attributes after the session's process has died, as Unmount would once the
// data file is gone. The server may call it.
func (s *Server) TakeAway(dir string) error {
	number := int(s.requests.word(wordConnection + int(attributeConnection)).Load())
	_, err := unmount(dir, typeName, number, unix.MNT_DETACH, s.OpenCount)
	return err
}

// Close unmaps the memory of requests. It waits until serving has ended, if it ever began.
func (s *Server) Close() error {
	if s.started {
		<-s.ended
	}
	return s.unmap()
}

func (s *Server) unmap() error {
	s.unmapped.Do(func() {
		s.unmapResult = s.requests.unmap()
		if s.own {
			s.unmapResult = errors.Join(s.unmapResult, s.counters.Close())
		}
	})
	return s.unmapResult
}
