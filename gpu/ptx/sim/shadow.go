// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sync"
	"sync/atomic"
)

// use is a way to access memory, as far as order is concerned.
type use int

const (
	weakWrite use = iota
	weakRead
	strongAccess // atomic and volatile ones: they do not race with each other
	uses
)

// excludes lists for each use which uses by others it must be ordered against.
var excludes = [uses][]use{
	weakWrite:    {weakWrite, weakRead, strongAccess},
	weakRead:     {weakWrite, strongAccess},
	strongAccess: {weakWrite, weakRead},
}

const (
	chunkBits = 12
	chunkSize = 1 << chunkBits
	tableBits = 9 // of chunks

	// In global memory a record has the block above a clock of 28 bits.
	blockShift = 40
	blockMask  = 1<<blockShift - 1
	mostBlocks = 1<<(64-blockShift) - 2
	manyBlocks = uint64(1<<(64-blockShift)-1) << blockShift
	maxTicks   = 1 << (blockShift - whoBits)
)

// shadow holds the records of a buffer's bytes in one launch. Blocks run side
// by side and nothing orders them: a record of another block conflicts always.
// Each party first records itself and then looks for others, so that of two
// that meet, at least one sees the other before it touches the bytes.
type shadow struct {
	tables [uses][]atomic.Pointer[table]
}

// Tables and chunks are made when first needed: a buffer may be large, and a
// launch touch little of it.
type (
	table [1 << tableBits]atomic.Pointer[chunk]
	chunk [chunkSize]atomic.Uint64
)

var chunkPool = sync.Pool{New: func() any { return new(chunk) }}

func newShadow(size int) *shadow {
	s := new(shadow)
	for u := range s.tables {
		s.tables[u] = make([]atomic.Pointer[table], size>>(chunkBits+tableBits)+1)
	}
	return s
}

// release frees the chunks after the last block.
func (s *shadow) release() {
	for u := range s.tables {
		for i := range s.tables[u] {
			if t := s.tables[u][i].Load(); t != nil {
				t.release()
			}
		}
	}
}

func (t *table) release() {
	for i := range t {
		if c := t[i].Load(); c != nil {
			clear(c[:])
			chunkPool.Put(c)
		}
	}
}

// chunk returns chunk k of a use, nil if there is none.
func (s *shadow) chunk(u use, k int) *chunk {
	t := s.tables[u][k>>tableBits].Load()
	if t == nil {
		return nil
	}
	return t[k&(1<<tableBits-1)].Load()
}

// claim records an access to n bytes at off. It returns a record that it races with, or 0. block is
// the block's number plus one, shifted into place.
func (s *shadow) claim(u use, off, n int, p *party, block uint64) record {
	for n > 0 {
		i := off & (chunkSize - 1)
		part := min(n, chunkSize-i)
		if r := s.claimChunk(u, off>>chunkBits, i, i+part, p, block); r != 0 {
			return r
		}
		off, n = off+part, n-part
	}
	return 0
}

func (s *shadow) claimChunk(u use, k, from, to int, p *party, block uint64) record {
	own := s.chunk(u, k)
	if own == nil {
		own = s.makeChunk(u, k)
	}
	mine := block | p.record
	for i := from; i < to; i++ {
		if old := own[i].Load(); old == mine {
			continue
		} else if r := own.enter(i, old, u == weakWrite, p, block); r != 0 {
			return r
		}
	}
	for _, other := range excludes[u] {
		c := s.chunk(other, k)
		if c == nil || other == u {
			continue
		}
		for i := from; i < to; i++ {
			if r := c[i].Load(); r != 0 && p.conflictsAcross(r, block) {
				return r
			}
		}
	}
	return 0
}

// enter records one byte's access, alone or together with others.
func (c *chunk) enter(i int, old uint64, alone bool, p *party, block uint64) record {
	for {
		next := block | p.record
		switch {
		case old == 0:
		case old&^blockMask != block:
			if alone {
				return old
			}
			next |= manyBlocks
		case alone && p.conflicts(old&blockMask):
			return old
		default:
			next = block | p.join(old&blockMask)
		}
		if c[i].CompareAndSwap(old, next) {
			return 0
		}
		old = c[i].Load()
	}
}

func (p *party) conflictsAcross(r uint64, block uint64) bool {
	return r&^blockMask != block || p.conflicts(r&blockMask)
}

// makeChunk makes the chunk, unless another block has.
func (s *shadow) makeChunk(u use, k int) *chunk {
	at := &s.tables[u][k>>tableBits]
	if at.Load() == nil {
		at.CompareAndSwap(nil, new(table))
	}
	place, c := &at.Load()[k&(1<<tableBits-1)], chunkPool.Get().(*chunk)
	if place.CompareAndSwap(nil, c) {
		return c
	}
	chunkPool.Put(c)
	return place.Load()
}
