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
	lockRequest = 16
	lockAnswer  = 1
)

// errNotLocked is why memory was not taken: the keeper could not lock it.
var errNotLocked = errors.New("the keeper cannot lock it")

// A lockClient is the worker's end of the conversation.
type lockClient struct {
	mu      sync.Mutex // one question at a time
	keeper  io.ReadWriter
	request [lockRequest]byte
	answer  [lockAnswer]byte
}

// LockVia makes the keeper, which answers on rw with ServeLocks, lock every piece of
// memory that this process takes from now on. A worker calls it before Create or Open.
// Once rw fails, the keeper is gone and the worker asks no further.
func (m *Memory) LockVia(rw io.ReadWriter) {
	if m.kind == MemoryMemfd {
		m.locks = &lockClient{keeper: rw}
	}
}

// ServeLocks locks the pieces that the worker at the other end of rw takes, until the
// worker dies or closes rw, which then fails. It returns the first error of Lock.
func (m *Memory) ServeLocks(rw io.ReadWriter) (first error) {
	var request [lockRequest]byte
	for {
		if _, err := io.ReadFull(rw, request[:]); err != nil {
			return first
		}
		answer := [lockAnswer]byte{}
		err := m.Lock(int64(binary.LittleEndian.Uint64(request[:])), int64(binary.LittleEndian.Uint64(request[8:])))
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

// lockInKeeper makes the keeper lock n bytes at off, which are allocated.
func (m *Memory) lockInKeeper(off, n int64) error {
	c := m.locks
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keeper == nil {
		return nil
	}
	binary.LittleEndian.PutUint64(c.request[:], uint64(off))
	binary.LittleEndian.PutUint64(c.request[8:], uint64(n))
	_, err := c.keeper.Write(c.request[:])
	if err == nil {
		_, err = io.ReadFull(c.keeper, c.answer[:])
	}
	if err != nil { // the keeper died: our own lock is what is left
		c.keeper = nil
		return nil
	}
	if c.answer[0] != 0 {
		return errNotLocked
	}
	return nil
}
