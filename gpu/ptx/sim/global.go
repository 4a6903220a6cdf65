// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"fmt"
	"math/bits"
)

const (
	sectorSize = 32
	lineSize   = 128
	lookups    = 16 // buffers that a block remembers
)

// lookup is a buffer that a block has used.
type lookup struct {
	window   uint64
	buffer   *buffer
	contents *contents
	shadow   *shadow
}

func loadGlobal(w *warp, in *instr, m uint32) {
	w.traffic(in, m, &w.block.stats.Loads)
	w.eachGlobal(in, m, (*warp).load1)
}

func storeGlobal(w *warp, in *instr, m uint32) {
	w.traffic(in, m, &w.block.stats.Stores)
	w.eachGlobal(in, m, (*warp).store1)
}

func atomGlobal(w *warp, in *instr, m uint32) {
	w.traffic(in, m, &w.block.stats.Atomics)
	w.eachGlobal(in, m, (*warp).update1)
}

// eachGlobal calls f with the bytes of each lane, until one may not have them.
func (w *warp) eachGlobal(in *instr, m uint32, f func(w *warp, in *instr, lane int, b []byte)) {
	if in.access.use == strongAccess {
		w.block.launch.Memory.strong.Lock()
		defer w.block.launch.Memory.strong.Unlock()
	}
	for n := in.access.bytes; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		c, off := w.global(in, lane)
		if c == nil {
			return
		}
		f(w, in, lane, c.data[off:off+n])
		if in.access.writes {
			c.written(off, n)
		}
	}
}

// global returns the bytes that a lane accesses. If it must not, the lane faults and global returns
// nil.
func (w *warp) global(in *instr, lane int) (*contents, int) {
	addr := w.r64[in.src[0]][lane] + uint64(int64(in.offset))
	l := &w.block.found[addr>>windowShift%lookups]
	if l.buffer == nil || l.window != addr>>windowShift || l.buffer.contents.Load() != l.contents {
		if l = w.meetBuffer(l, addr, lane, in); l == nil {
			return nil, 0
		}
	}
	c, n := l.contents, in.access.bytes
	off := addr - l.buffer.base
	switch {
	case off > uint64(len(c.data)) || uint64(n) > uint64(len(c.data))-off:
		return w.failGlobal(ErrOutOfBounds, in, lane, addr, fmt.Sprintf(" of %d bytes", len(c.data)))
	case addr%uint64(n) != 0:
		return w.failGlobal(ErrMisaligned, in, lane, addr, "")
	case in.access.writes && c.access == ReadOnly:
		return w.failGlobal(ErrReadOnly, in, lane, addr, "")
	}
	if l.shadow != nil {
		p := w.party(lane, w.block.start-firstTick)
		if other := l.shadow.claim(in.access.use, int(off), n, &p, w.block.place()); other != 0 {
			return w.failGlobal(ErrRace, in, lane, addr, " with "+w.block.culprit(other))
		}
	}
	if in.access.reads && c.init != nil {
		if i := bytes.IndexByte(c.init[off:off+uint64(n)], 0); i >= 0 {
			return w.failGlobal(ErrUninitialised, in, lane, addr+uint64(i), "")
		}
	}
	return c, int(off)
}

func (w *warp) failGlobal(kind error, in *instr, lane int, addr uint64, detail string) (*contents, int) {
	w.fail(kind, lane, fmt.Sprintf("%d bytes at %s%s", in.access.bytes, w.block.launch.Memory.Label(addr), detail))
	return nil, 0
}

// meetBuffer finds the buffer of an address and keeps it in l.
func (w *warp) meetBuffer(l *lookup, addr uint64, lane int, in *instr) *lookup {
	b := w.block.launch.Memory.find(addr)
	if b == nil {
		w.failGlobal(ErrOutOfBounds, in, lane, addr, "")
		return nil
	}
	c := b.contents.Load()
	if c == nil {
		w.failGlobal(ErrUseAfterFree, in, lane, addr, "")
		return nil
	}
	*l = lookup{window: addr >> windowShift, buffer: b, contents: c}
	if c.access != ReadOnly {
		l.shadow = w.block.launch.shadowOf(b, c)
	}
	return l
}

// party is the lane as the trackers see it, by a clock that began at since.
func (w *warp) party(lane int, since uint64) party {
	b := w.block
	return party{record: (b.clock-since)<<whoBits | uint64(w.index)<<laneBits | uint64(lane),
		warpSynced: (w.synced - since) << whoBits, blockSynced: (b.synced - since) << whoBits}
}

// place is the block's number in a record of global memory.
func (b *block) place() uint64 { return uint64(b.number+1) << blockShift }

// culprit names the lane of a record of global memory.
func (b *block) culprit(r uint64) string {
	switch other := r >> blockShift; {
	case r&^blockMask == manyBlocks:
		return "several blocks"
	case other != uint64(b.number+1):
		return fmt.Sprintf("block %d, %s", other-1, who(r))
	}
	return who(r)
}

// who names the lane of a record.
func who(r record) string {
	lane, warp := r&laneMask, r>>laneBits&laneMask
	switch {
	case warp == many:
		return "several warps"
	case lane == many:
		return fmt.Sprintf("warp %d, several lanes", warp)
	}
	return fmt.Sprintf("warp %d, lane %d", warp, lane)
}

// traffic counts an access. It is coalesced if it touches no more sectors than the same bytes
// would, lined up from the lowest address on.
func (w *warp) traffic(in *instr, m uint32, t *Traffic) {
	var sectors, lines [WarpSize]uint64
	addrs, n := &w.r64[in.src[0]], uint64(in.access.bytes)
	ns, nl, distinct := 0, 0, uint64(0)
	lowest, last := ^uint64(0), ^uint64(0)
	for rest := m; rest != 0; rest &= rest - 1 {
		addr := addrs[bits.TrailingZeros32(rest)&31] + uint64(int64(in.offset))
		ns, nl = note(&sectors, ns, addr/sectorSize), note(&lines, nl, addr/lineSize)
		if addr != last {
			distinct += n
			last, lowest = addr, min(lowest, addr)
		}
	}
	t.Instructions++
	t.Bytes += n * uint64(bits.OnesCount32(m))
	t.Sectors += uint64(ns)
	t.Transactions += uint64(nl)
	if uint64(ns) <= (lowest%sectorSize+distinct+sectorSize-1)/sectorSize {
		t.Coalesced++
	}
}

// note adds v to the first n of a set. Lanes are mostly in order, so the search
// begins with the last.
func note(set *[WarpSize]uint64, n int, v uint64) int {
	for i := n - 1; i >= 0; i-- {
		if set[i] == v {
			return n
		}
	}
	set[n&31] = v
	return n + 1
}
