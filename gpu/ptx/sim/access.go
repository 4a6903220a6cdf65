// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// access describes a load, a store or an atomic instruction.
type access struct {
	use      use
	reads    bool
	writes   bool
	bytes    int // of a lane
	element  int
	elements int
	update   func(old, a, b uint64) uint64 // atomic ones
}

func newAccess(op ptx.Opcode, sig ptx.Signature) access {
	a := access{use: weakRead, bytes: sig.Bytes(), element: sig.Element, elements: sig.Elements, update: updates[op],
		reads: sig.Effect != ptx.EffectStore, writes: sig.Effect != ptx.EffectLoad}
	if !a.reads {
		a.use = weakWrite
	}
	if sig.Relaxed {
		a.use = strongAccess
	}
	return a
}

// runner chooses who executes it.
func (a *access) runner(sig ptx.Signature) runFunc {
	global := sig.Space == ptx.SpaceGlobal
	switch {
	case sig.Effect == ptx.EffectAtomic && a.update == nil:
		return nil
	case sig.Effect == ptx.EffectAtomic && global:
		return atomGlobal
	case sig.Effect == ptx.EffectAtomic:
		return atomShared
	case sig.Effect == ptx.EffectStore && global:
		return storeGlobal
	case sig.Effect == ptx.EffectStore:
		return storeShared
	case global:
		return loadGlobal
	}
	return loadShared
}

// updates are what atomic instructions make of a word. A sum is cut to the word by who stores it.
var updates = map[ptx.Opcode]func(old, a, b uint64) uint64{
	ptx.OpAtomGlobalAddU32: add,
	ptx.OpAtomSharedAddU32: add,
	ptx.OpAtomSharedOrB32:  func(old, a, _ uint64) uint64 { return old | a },
}

func add(old, a, _ uint64) uint64 { return old + a }

// load puts a lane's bytes into its registers.
func (w *warp) load1(in *instr, lane int, b []byte) {
	switch a := &in.access; a.element {
	case 1:
		w.r32[in.dst[0]][lane] = uint32(b[0])
	case 2:
		w.r32[in.dst[0]][lane] = uint32(binary.LittleEndian.Uint16(b))
	case 8:
		w.r64[in.dst[0]][lane] = binary.LittleEndian.Uint64(b)
	default:
		for i := range a.elements {
			w.r32[in.dst[i]][lane] = binary.LittleEndian.Uint32(b[4*i:])
		}
	}
}

// store puts a lane's registers into its bytes. The address is the first operand.
func (w *warp) store1(in *instr, lane int, b []byte) {
	switch a := &in.access; a.element {
	case 1:
		b[0] = byte(w.r32[in.src[1]][lane])
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(w.r32[in.src[1]][lane]))
	case 8:
		binary.LittleEndian.PutUint64(b, w.r64[in.src[1]][lane])
	default:
		for i := range a.elements {
			binary.LittleEndian.PutUint32(b[4*i:], w.r32[in.src[1+i]][lane])
		}
	}
}

// update1 changes a lane's bytes and puts what they were into its register.
func (w *warp) update1(in *instr, lane int, b []byte) {
	if in.access.element == 8 {
		old := binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(b, in.access.update(old, w.r64[in.src[1]][lane], w.r64[in.src[2]][lane]))
		w.r64[in.dst[0]][lane] = old
		return
	}
	old := binary.LittleEndian.Uint32(b)
	binary.LittleEndian.PutUint32(b, uint32(in.access.update(uint64(old), uint64(w.r32[in.src[1]][lane]), uint64(w.r32[in.src[2]][lane]))))
	w.r32[in.dst[0]][lane] = old
}
