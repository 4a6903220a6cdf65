// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// Each array of shared memory lies in a window of its own, as the driver may place them in any
// order: an address beyond one lies in no other. An array has its own alignment and no better one.
const (
	arrayShift = 20
	arrayLead  = 1 << (arrayShift - 1)
	banks      = 32
)

// layout is where a kernel's arrays are. It never changes.
type layout struct {
	arrays []ptx.SharedArray
	bases  []uint32 // addresses
	size   int
}

func newLayout(k *ptx.Kernel) *layout {
	l := &layout{arrays: k.Shared(), size: k.SharedBytes()}
	for i, a := range l.arrays {
		l.size = max(l.size, a.Offset+a.Size)
		l.bases = append(l.bases, uint32(i+1)<<arrayShift+arrayLead+uint32(a.Align))
	}
	return l
}

// label names an address.
func (l *layout) label(addr uint32) string {
	i := int(addr>>arrayShift) - 1
	if i < 0 || i >= len(l.arrays) {
		return fmt.Sprintf("shared address %#x, which is in no array", addr)
	}
	return fmt.Sprintf("%s%+d of %d bytes", l.arrays[i].Name, int64(addr)-int64(l.bases[i]), l.arrays[i].Size)
}

// shared is a block's shared memory.
type shared struct {
	*layout
	data    []byte
	init    []byte // 1: written by this block
	records [uses][]record
	// excludes are the records of the uses that each use must be ordered against,
	// as far as the kernel has them.
	excludes [uses][][]record
}

func newShared(p *program) shared {
	s := shared{layout: p.shared, data: make([]byte, p.shared.size), init: make([]byte, p.shared.size)}
	for u := range s.records {
		if p.uses[u] {
			s.records[u] = make([]record, p.shared.size)
		}
	}
	for u, others := range excludes {
		for _, other := range others {
			if p.uses[other] {
				s.excludes[u] = append(s.excludes[u], s.records[other])
			}
		}
	}
	return s
}

// reset prepares it for a new block. The records need no clearing: the clock has advanced.
func (s *shared) reset() { clear(s.init) }

// locate fills w.offsets with the places of the lanes of m in the block's
// memory, or faults.
func (w *warp) locate(in *instr, m uint32) bool {
	s, addrs, n := &w.block.shared, &w.r32[in.src[0]], uint32(in.access.bytes)
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := addrs[lane] + uint32(in.offset)
		i := addr>>arrayShift - 1
		if i >= uint32(len(s.arrays)) {
			return w.failShared(ErrOutOfBounds, in, lane, addr, "")
		}
		a, off := &s.arrays[i], addr-s.bases[i]
		if off >= uint32(a.Size) || off+n > uint32(a.Size) {
			return w.failShared(ErrOutOfBounds, in, lane, addr, "")
		}
		if addr&(n-1) != 0 {
			return w.failShared(ErrMisaligned, in, lane, addr, "")
		}
		w.offsets[lane] = int32(uint32(a.Offset) + off)
	}
	return true
}

func (w *warp) failShared(kind error, in *instr, lane int, addr uint32, detail string) bool {
	w.fail(kind, lane, fmt.Sprintf("%d bytes at %s%s", in.access.bytes, w.block.shared.label(addr), detail))
	return false
}

func loadShared(w *warp, in *instr, m uint32)  { w.eachShared(in, m, (*warp).load1) }
func storeShared(w *warp, in *instr, m uint32) { w.eachShared(in, m, (*warp).store1) }
func atomShared(w *warp, in *instr, m uint32)  { w.eachShared(in, m, (*warp).update1) }

// eachShared calls f with the bytes of each lane, until a lane faults.
func (w *warp) eachShared(in *instr, m uint32, f func(w *warp, in *instr, lane int, b []byte)) {
	if !w.locate(in, m) {
		return
	}
	w.countShared(in, m)
	s, n, p := &w.block.shared, in.access.bytes, w.party(0, 0)
	for base := p.record; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		off := int(w.offsets[lane])
		p.record = base | uint64(lane)
		if r := s.claim(in.access.use, off, n, &p); r != 0 {
			w.raceShared(in, lane, r)
			return
		}
		if in.access.reads && !w.initialised(in, lane) {
			return
		}
		if in.access.writes {
			fill(s.init[off:off+n], 1)
		}
		f(w, in, lane, s.data[off:off+n])
	}
}

func (w *warp) raceShared(in *instr, lane int, r record) {
	w.failShared(ErrRace, in, lane, w.r32[in.src[0]][lane]+uint32(in.offset), " with "+who(r))
}

// initialised reports whether the bytes that a lane reads were written; if not, it faults.
func (w *warp) initialised(in *instr, lane int) bool {
	off := int(w.offsets[lane])
	for i, done := range w.block.shared.init[off : off+in.access.bytes] {
		if done == 0 {
			return w.failShared(ErrUninitialised, in, lane, w.r32[in.src[0]][lane]+uint32(in.offset)+uint32(i), "")
		}
	}
	return true
}

// claim records an access to n bytes at off and returns a record that it races with, or 0.
func (s *shared) claim(u use, off, n int, p *party) record {
	for _, others := range s.excludes[u] {
		for _, r := range others[off : off+n] {
			if r >= p.blockSynced && p.conflicts(r) {
				return r
			}
		}
	}
	own := s.records[u][off : off+n]
	if u == weakWrite {
		for i := range own {
			own[i] = p.record
		}
		return 0
	}
	for i, r := range own {
		own[i] = p.join(r)
	}
	return 0
}

// countShared counts an access, and the passes that conflicts between banks add.
func (w *warp) countShared(in *instr, m uint32) {
	w.block.stats.Shared++
	if in.access.bytes <= 4 {
		w.block.stats.BankConflicts += uint64(passes(&w.offsets, m, 1) - 1)
		return
	}
	// Wider accesses are made for a half or a quarter of the warp at a time.
	words := in.access.bytes / 4
	part := uint32(1)<<(WarpSize/words) - 1
	for i := range words {
		if lanes := m & (part << (i * WarpSize / words)); lanes != 0 {
			w.block.stats.BankConflicts += uint64(passes(&w.offsets, lanes, words) - 1)
		}
	}
}

// passes is the largest number of different words that lanes want of one bank.
func passes(offsets *[WarpSize]int32, m uint32, words int) int {
	var first [banks]int32 // word + 1
	for rest := m; rest != 0; rest &= rest - 1 {
		word := offsets[bits.TrailingZeros32(rest)&31]>>2 + 1
		for k := range int32(words) {
			switch f := &first[(word+k)%banks]; *f {
			case 0:
				*f = word + k
			case word + k:
			default:
				return countPasses(offsets, m, words)
			}
		}
	}
	return 1
}

// countPasses counts them where there is more than one.
func countPasses(offsets *[WarpSize]int32, m uint32, words int) int {
	var wanted [banks][]int32
	most := 1
	for ; m != 0; m &= m - 1 {
		word := offsets[bits.TrailingZeros32(m)&31] >> 2
		for k := range int32(words) {
			list := &wanted[(word+k)%banks]
			if !slices.Contains(*list, word+k) {
				*list = append(*list, word+k)
				most = max(most, len(*list))
			}
		}
	}
	return most
}
