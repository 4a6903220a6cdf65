// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/bits"
	"sync"
)

// blocks says which blocks of the backing device are taken. It is derived: Open finds in the index
// which blocks stubs name, and the others are free, whatever a process that died had begun.
type blocks struct {
	mu    sync.Mutex
	taken []uint64 // a bit for each block; guarded by mu
	end   uint64   // blocks there are; immutable
	used  uint64   // bits set; guarded by mu
	next  uint64   // where the search begins, so that what is written together lies together; guarded by mu
}

func (b *blocks) init(end uint64) {
	b.taken, b.end = make([]uint64, (end+63)/64), end
}

// take takes up to n free blocks in a row, and returns how many; 0 if there are none.
func (b *blocks) take(n int) (first uint64, got int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == b.end {
		return 0, 0
	}
	first = b.free(b.next)
	if first == b.end {
		first = b.free(0)
	}
	for at := first; at < b.end && got < n && !b.has(at); at++ {
		b.set(at)
		got++
	}
	b.next = first + uint64(got)
	return first, got
}

// freeEntry is the first free block from one on, or the end.
func (b *blocks) free(from uint64) uint64 {
	mask := ^uint64(0) << (from % 64)
	for word := from / 64; word < uint64(len(b.taken)); word++ {
		if rest := ^b.taken[word] & mask; rest != 0 {
			return min(word*64+uint64(bits.TrailingZeros64(rest)), b.end)
		}
		mask = ^uint64(0)
	}
	return b.end
}

func (b *blocks) has(n uint64) bool { return b.taken[n/64]>>(n%64)&1 != 0 }

func (b *blocks) set(n uint64) {
	b.taken[n/64] |= 1 << (n % 64)
	b.used++
}

// adopt takes a block that a stub names, unless it is taken or there is none.
func (b *blocks) adopt(n uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n >= b.end || b.has(n) {
		return false
	}
	b.set(n)
	return true
}

// release frees a block.
func (b *blocks) release(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < b.end && b.has(n) {
		b.taken[n/64] &^= 1 << (n % 64)
		b.used--
	}
}
