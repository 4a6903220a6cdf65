// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs/internal/ring"
	"github.com/zramfs/zramfs/internal/killpoint"
)

const (
	// ringTransfer is the largest read or write by io_uring, in bytes. Each entry has a buffer of
	// that size; larger requests, which the loop driver has merged, come in two or three.
	ringTransfer = 256 << 10
	// ringMemory bounds the memory of all entries, in bytes, and ringEntries the entries of one
	// CPU's queue.
	ringMemory  = 16 << 20
	ringEntries = 32
	// ringAddress is the entries' address in every server's address space, where nothing else is
	// mapped: the kernel keeps the addresses when a successor takes over.
	ringAddress = 0x20_0000_0000

	// capRing is FUSE_OVER_IO_URING.
	capRing = 1 << 41
)

// The word wordRings: whether a predecessor left the rings so that a successor can carry on.
const (
	ringsNever = iota
	ringsServe
	ringsRest
)

// shapeFor sizes the memory of requests for this machine.
func shapeFor(transport Transport) (requestsShape, error) {
	shape := requestsShape{attributes: attributeThreads, data: dataThreads(), transfer: maxWrite()}
	switch transport {
	case TransportDev:
		return shape, nil
	case TransportUring:
	default:
		return shape, fmt.Errorf("%w: transport %q is none of %s, %s", ErrConfig, transport, TransportDev, TransportUring)
	}
	if err := ring.Supported(); err != nil {
		return shape, fmt.Errorf("%w: %w", ErrTransport, err)
	}
	cpus, err := ring.ReadCPUs()
	if err != nil {
		return shape, err
	}
	shape.online = processorSetOf(cpus.Online())
	if cpus, err = cpus.WithOnline(shape.online.list()); err != nil {
		return shape, err
	}
	shape.transfer = min(shape.transfer, ringTransfer)
	shape.entries = min(max(ringMemory/shape.transfer/cpus.Queues(), 1), ringEntries)
	cfg := ring.Config{CPUs: cpus, Entries: shape.entries, Payload: shape.transfer}
	shape.rings = (cfg.Size() + pageSize - 1) &^ (pageSize - 1)
	return shape, nil
}

// makeRings makes the threads and rings of the data connection. The kernel does not know of them
// yet.
func (s *Server) makeRings(shape requestsShape, f *os.File) error {
	cpus, err := ring.ReadCPUs()
	if err == nil && shape.online != (processorSet{}) {
		cpus, err = cpus.WithOnline(shape.online.list())
	}
	if err != nil {
		return err
	}
	cfg := ring.Config{CPUs: cpus, Entries: shape.entries, Payload: shape.transfer, Handle: s.data.handle}
	if n := cfg.Size(); n > shape.rings {
		return fmt.Errorf("%w: the rings' memory is %d bytes; for the present processors it takes %d", errRequests, shape.rings, n)
	}
	if s.ringMemory, err = mapFixed(f, shape.ringsAt(), shape.rings, ringAddress); err != nil {
		return err
	}
	cfg.Memory = s.ringMemory.mem
	s.data.workers = make([]pageThread, cpus.Workers())
	for i := range s.data.workers {
		s.data.workers[i].beforeWait = func() { s.data.rings.Send(i) }
	}
	s.data.rings, err = ring.New(cfg)
	return err
}

// startRings registers the rings, once the kernel has agreed to use any.
func (s *Server) startRings() error {
	c, state := s.data, s.requests.word(wordRings)
	if c.flags&capRing == 0 {
		rings := c.rings
		c.rings = nil
		return errors.Join(errors.New("the kernel does not offer FUSE over io_uring"), rings.Close())
	}
	var err error
	was := state.Swap(ringsServe) // before they carry a request
	switch was {
	case ringsNever:
		err = c.rings.Start(c.device)
	case ringsRest:
		if err = c.rings.Adopt(c.device); err == nil {
			killpoint.At("rings adopted")
		}
	default:
		err = errors.New("the last server died with them")
	}
	if errors.Is(err, ring.ErrAdopt) { // nothing was touched
		state.Store(was)
	}
	if err != nil {
		c.rings = nil
		return err
	}
	c.running.Go(func() {
		if err := c.rings.Wait(); err != nil {
			s.fail(fmt.Errorf("rings: %w", err))
		}
	})
	return nil
}

// restTime bounds the time until rings are at rest: writes that wait for memory take a second.
const restTime = 3 * time.Second

// restRings brings the rings into a state from which a successor can carry on. The kernel has to
// know the data file's inode, as it does while the file is open.
func (s *Server) restRings() error {
	if s.data.rings == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), restTime)
	defer cancel()
	if err := s.data.rings.Drain(ctx, dataNode); err != nil {
		return err
	}
	s.requests.word(wordRings).Store(ringsRest)
	return nil
}

// handle carries out a request that came by a ring, in the worker's thread.
func (c *connection) handle(worker int, r *ring.Request) {
	op := r.Opcode()
	if isPageRequest(op, r.Node()) {
		c.handlePage(&c.workers[worker], op, r)
	} else {
		c.handleOther(worker, op, r)
	}
}

func (c *connection) handlePage(t *pageThread, op uint32, r *ring.Request) {
	t.pace.begin(time.Now())
	n, errno := c.fs.servePage(t, op, r.Arg, r.In, r.Out)
	if errno != 0 {
		r.Refuse(errno)
	} else {
		r.Answer(n)
	}
	t.pace.end(time.Now())
}

// handleOther passes a request to go-fuse, as thread.carryOutOther does.
func (c *connection) handleOther(worker int, op uint32, r *ring.Request) {
	header := make([]byte, outHeaderSize)
	argument := int(message(r.Header).length()) - inHeaderSize - len(r.In)
	if argument < 0 || argument > len(r.Arg) {
		r.Refuse(unix.EIO)
		return
	}
	in := make([]byte, 0, inHeaderSize+argument+len(r.In)) // a copy: the answer overwrites the names
	in = append(append(append(in, r.Header...), r.Arg[:argument]...), r.In...)
	c.initiated.Load() // as in carryOutOther
	n, status := c.protocol.HandleRequest([][]byte{in}, [][]byte{header, r.Out})
	if status == fuse.OK && n >= outHeaderSize {
		status = fuse.Status(errnoOf(header))
	}
	if status != fuse.OK {
		r.Refuse(syscall.Errno(status))
		return
	}
	c.count(c.threads[worker%len(c.threads)].slot, op, message(r.Header))
	r.Answer(max(n-outHeaderSize, 0))
}
