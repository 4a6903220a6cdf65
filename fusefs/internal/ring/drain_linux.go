// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// How a process hands its rings over to a successor without losing a request.
//
// The kernel takes an idle entry back when the thread that submitted it ends. A request that is
// being put into the entry at that moment is lost, because no process can answer it
// (fs/fuse/dev_uring.c, fuse_uring_send_in_task in a dying task). But an entry with a request that
// we have received is safe: it belongs to the connection. COMMIT_AND_FETCH with its number answers
// the request and lends the entry again, from any thread and ring.
//
// So the predecessor stops answering and waits until every entry holds a request. Because requests
// may not come by themselves, it makes some: FUSE_NOTIFY_RETRIEVE makes the kernel send one, in the
// queue of the CPU where it was written. From then on requests queue up inside the kernel, none is
// on its way to us, and the threads can end. The kernel keeps the addresses of the buffers: the
// successor must map the same memory at the same place.

const (
	opNotifyReply  = 41 // FUSE_NOTIFY_REPLY
	notifyRetrieve = 5  // FUSE_NOTIFY_RETRIEVE

	// fillerBit marks the numbers of requests that we made. The kernel counts its own from 0 and
	// uses bit 63 itself. All numbers are even.
	fillerBit = 1 << 62

	// The states that Drain leaves in an entry: it holds a request, or none, where the queue's CPU
	// is offline. The kernel took the latter back, and the successor registers it anew.
	stateHeld = 0x68656c64
	stateIdle = 0x69646c65
)

var (
	// ErrDrain: the rings could not be brought to rest. They continue to serve.
	ErrDrain = errors.New("rings do not come to rest")
	// ErrAdopt: the memory does not hold the rings of a predecessor, or has another address.
	ErrAdopt = errors.New("memory without rings to adopt")
)

// Drain brings the rings to rest, so that another process can carry on: it stops answering, waits
// until each entry holds a request, and ends the workers. When it succeeds, the requests are the
// successor's (see [Rings.Adopt]), no handler runs, Wait returns, and this process may exit; the
// descriptor of /dev/fuse must stay open in some process. When the context ends first, the rings
// continue to serve.
//
// Calls must not overlap. The node is a regular file whose inode the kernel has in memory, for
// example because the file is open.
func (s *Rings) Drain(ctx context.Context, node uint64) error {
	now, err := ReadCPUs()
	if err != nil {
		return err
	}
	s.online.Store(&now)
	s.node.Store(node)
	s.filler.Store(fillerBit | uint64(time.Now().UnixNano())<<2&(fillerBit-1))
	s.turn()
	for !s.allHeld() {
		if ctx.Err() != nil {
			s.turn()
			if err := s.fillError.Swap(nil); err != nil {
				return fmt.Errorf("%w: make requests about node %d: %w", ErrDrain, node, *err)
			}
			return fmt.Errorf("%w: %w", ErrDrain, ctx.Err())
		}
		time.Sleep(100 * time.Microsecond)
	}
	s.leave()
	return s.Close()
}

// leave writes the state of each entry for the successor.
func (s *Rings) leave() {
	for i := range s.requests {
		r := &s.requests[i]
		state := uint32(stateIdle)
		if r.waits.Load() {
			state = stateHeld
		}
		binary.NativeEndian.PutUint32(r.head[offState:], state)
		binary.NativeEndian.PutUint64(r.head[offPlace:], s.placeOf(r))
	}
}

// placeOf returns the place of an entry: its queue and the total number of entries. It is never 0,
// the value that earlier versions leave.
func (s *Rings) placeOf(r *Request) uint64 { return uint64(len(s.requests))<<32 | uint64(r.queue) }

// turn tells the workers that draining begins or ends.
func (s *Rings) turn() {
	s.turns.Add(1)
	for _, w := range s.workers {
		w.wake()
	}
}

// allHeld reports whether every entry holds a request that no worker handles, apart from entries of
// offline CPUs, where no request can arise. (A CPU that comes up just before the workers end could
// get one.)
//
// That is not enough: a worker that looked before draining began may be about to take one of the
// requests, and would answer it as the successor does. So each worker must have begun to rest.
func (s *Rings) allHeld() bool {
	turn := s.turns.Load()
	for _, w := range s.workers {
		if w.resting.Load() != turn {
			return false
		}
	}
	for i := range s.requests {
		r := &s.requests[i]
		if !r.waits.Load() && s.online.Load().isOnline(r.queue) {
			return false
		}
	}
	return true
}

// drain receives without answering, after making a request for each of the worker's entries, on the
// CPU of its queue.
func (w *worker) drain() {
	if w.resting.Load() == w.turn {
		w.wait()
		return
	}
	here := -1 // not w.cpu: going offline moves a worker to another CPU
	for i := range w.rings.requests {
		r := &w.rings.requests[i]
		if r.home != w || !w.rings.online.Load().isOnline(r.queue) {
			continue
		}
		// After an error the rings do not come to rest, and Drain gives up in the end.
		if r.queue != here || !w.rings.tuning.pin {
			if err := bindTo(r.queue); err != nil {
				continue
			}
			here = r.queue
		}
		if err := w.fill(); err != nil {
			w.rings.fillError.Store(&err)
			break
		}
	}
	if here != w.cpu && here >= 0 {
		_ = bindTo(w.cpu) // best effort: the successor binds its own threads
	}
	w.flush()
	w.resting.Store(w.turn) // last: from now on entries are lent, or held
}

// fill makes the kernel send a request, by asking for the cached contents of a file: none, where a
// file is used by direct I/O only.
func (w *worker) fill() error {
	var b [48]byte // struct fuse_out_header, struct fuse_notify_retrieve_out
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint32(b[4:], notifyRetrieve)
	binary.NativeEndian.PutUint64(b[16:], w.rings.filler.Add(2))
	binary.NativeEndian.PutUint64(b[24:], w.rings.node.Load())
	_, err := unix.Write(w.device, b[:])
	return err
}

// isFiller reports whether fill caused the request.
func (r *Request) isFiller() bool { return r.Opcode() == opNotifyReply && r.Unique()&fillerBit != 0 }

// Adopt carries on after a predecessor's Drain, in place of Start. CPUs, Entries, Payload and the
// contents of Memory must be the same, and Memory must have the same address: map it shared, at a
// fixed place. For changed CPUs see [CPUs.WithOnline].
func (s *Rings) Adopt(device int) error {
	for i := range s.requests {
		r := &s.requests[i]
		vectors := r.head[offVectors:]
		place := binary.NativeEndian.Uint64(r.head[offPlace:])
		if binary.NativeEndian.Uint64(vectors) != address(r.head) ||
			binary.NativeEndian.Uint64(vectors[16:]) != address(r.Out) ||
			binary.NativeEndian.Uint64(vectors[24:]) != uint64(len(r.Out)) ||
			place != 0 && place != s.placeOf(r) ||
			!slices.Contains([]uint32{stateHeld, stateIdle}, r.state()) {
			return fmt.Errorf("%w: entry %d", ErrAdopt, i)
		}
	}
	return s.begin(beginning{device: device, adopt: true})
}

// state returns the state that a predecessor left in the entry.
func (r *Request) state() uint32 { return binary.NativeEndian.Uint32(r.head[offState:]) }

// heldOver reports whether that is a request, and clears it.
func (r *Request) heldOver() bool {
	held := r.state() == stateHeld
	binary.NativeEndian.PutUint32(r.head[offState:], 0)
	return held
}
