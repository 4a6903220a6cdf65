// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// A page of a memfd stays out of swap only while a living process has it locked,
// and mlock acts on the caller's own mapping: a mapping that was locked with
// MLOCK_ONFAULT beforehand does nothing for the pages that another process faults in
// (tried on Linux 6.18; Mlocked of /proc/meminfo does not move). If the keeper held
// the descriptor alone, the kernel could write the image of a dead worker to the very
// device that waits for it. Nor can the keeper lock the file now and then: it would
// take pages again that the worker gives back at that moment, and leak them. So the
// worker tells the keeper of each piece that it takes, and uses it once the keeper
// has locked it as well. Giving back needs no message: a punch takes the page out of
// every process's mapping.
//
// The maintainer has this conversation, off the page path. A file of kind
// MemoryNoswap needs none.
//
//	worker: offset, length   two little-endian 64-bit integers, bytes
//	keeper: 0, or 1 for a failure
const (
	holdRequest = 16
	holdAnswer  = 1
)

// errNotHeld is why memory was not taken: the keeper could not lock it.
var errNotHeld = errors.New("the keeper cannot lock it")

// A holder is the worker's end of the conversation.
type holder struct {
	mu      sync.Mutex // one question at a time
	keeper  io.ReadWriter
	request [holdRequest]byte
	answer  [holdAnswer]byte
}

// HeldBy makes the worker's process have every piece of memory that it takes from
// now on held by the keeper that answers on rw with HoldFor. It is called before
// Create or Open. Once rw fails, the keeper is gone and the worker asks no further.
func (m *Memory) HeldBy(rw io.ReadWriter) {
	if m.kind == MemoryMemfd {
		m.holder = &holder{keeper: rw}
	}
}

// HoldFor holds what the worker at the other end of rw takes, until that dies or
// closes it; rw then fails in one way or another. It returns the first error of
// Hold.
func (m *Memory) HoldFor(rw io.ReadWriter) (first error) {
	var request [holdRequest]byte
	for {
		if _, err := io.ReadFull(rw, request[:]); err != nil {
			return first
		}
		answer := [holdAnswer]byte{}
		err := m.Hold(int64(binary.LittleEndian.Uint64(request[:])), int64(binary.LittleEndian.Uint64(request[8:])))
		if err != nil {
			answer[0] = 1
			if first == nil {
				first = err
			}
		}
		if _, err := rw.Write(answer[:]); err != nil {
			return first
		}
	}
}

// tell has the keeper hold n bytes at off, which are there.
func (m *Memory) tell(off, n int64) error {
	h := m.holder
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keeper == nil {
		return nil
	}
	binary.LittleEndian.PutUint64(h.request[:], uint64(off))
	binary.LittleEndian.PutUint64(h.request[8:], uint64(n))
	_, err := h.keeper.Write(h.request[:])
	if err == nil {
		_, err = io.ReadFull(h.keeper, h.answer[:])
	}
	if err != nil { // the keeper died: our own lock is what is left
		h.keeper = nil
		return nil
	}
	if h.answer[0] != 0 {
		return errNotHeld
	}
	return nil
}
