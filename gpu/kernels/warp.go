// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// warp is the common part of all kernels here: each warp does one page after another, in shared
// memory of its own.
type warp struct {
	*ptx.Builder
	lane   ptx.U32
	memory ptx.Shared32 // the warp's own
	byLane ptx.Shared32 // memory plus the lane's number, in bytes
	pages  ptx.U32      // of the launch
	warps  int          // of a block
}

// newWarp begins a kernel whose blocks have a number of warps, each with bytes of shared memory, a
// multiple of 16.
func newWarp(name string, warps, bytes int) *warp {
	b := ptx.New(name, warps*lanes)
	memory := b.Shared("memory", warps*bytes, quadBytes).Add(b.WarpID().Mul(n(bytes)))
	lane := b.LaneID()
	return &warp{Builder: b, lane: lane, memory: memory, byLane: memory.Add(lane), warps: warps}
}

func n(i int) ptx.U32 { return ptx.N(uint32(i)) }

// eachPage builds body for the pages of this warp, which lie far apart. The beginning of body must
// not disturb shared memory that other lanes still use at its end.
func (w *warp) eachPage(body func(page ptx.U32)) {
	first := w.CtaidX().Mad(n(w.warps), w.WarpID())
	page, step := ptx.NewUniform(w.Builder, first), w.NctaidX().Mul(n(w.warps))
	w.While(func() ptx.Pred { return page.Get().Lt(w.pages) }, func() {
		body(page.Get())
		page.Set(page.Get().Add(step))
	})
}

// stride builds body for k = 0, 32, 64 and so on below limit, which is uniform, with the lanes
// where k + lane is below it.
func (w *warp) stride(limit ptx.U32, body func(k ptx.U32, within ptx.Pred)) {
	k := ptx.NewUniform(w.Builder, n(0))
	w.While(func() ptx.Pred { return k.Get().Lt(limit) }, func() {
		body(k.Get(), k.Get().Add(w.lane).Lt(limit))
		k.Set(k.Get().Add(n(lanes)))
	})
}

// first is whether this is lane 0.
func (w *warp) first() ptx.Pred { return w.lane.Eq(n(0)) }

// at returns the warp's memory at an offset that may differ between lanes.
func (w *warp) at(offset ptx.U32) ptx.Shared32 { return w.memory.Add(offset) }

// wordAt loads the four bytes at any offset.
func (w *warp) wordAt(offset ptx.U32) ptx.U32 {
	low, high, shift := w.around(offset)
	return low.FunnelR(high, shift)
}

// around loads the two words that contain those at any offset, and returns the shift that extracts
// them.
func (w *warp) around(offset ptx.U32) (low, high, shift ptx.U32) {
	aligned := w.at(offset.And(ptx.N(^uint32(3))))
	return aligned.LoadU32(), aligned.At(4).LoadU32(), offset.Shl(n(3))
}

// copyByte copies a byte in some lanes. All lanes compute the addresses: a value computed in some
// lanes occupies a register in the others all the same.
func (w *warp) copyByte(in ptx.Pred, to, from ptx.Shared32) {
	w.When(in, func() { to.StoreU8(from.LoadU8()) })
}

// storeStatus writes the status of an object.
func (w *warp) storeStatus(to ptx.Global64, status ptx.U32) {
	w.When(w.first(), func() { to.StoreU32(status) })
}

// rows calls do for each row of 16 bytes a lane in bytes, a multiple of 512.
func rows(bytes int, do func(offset int)) {
	for offset := 0; offset < bytes; offset += rowBytes {
		do(offset)
	}
}

// stage copies an object of any alignment to shared memory at an offset, with zeros behind it, and
// returns the offset of its first byte. Lanes load 16 bytes each, beginning with the object's first
// sector, which may be more than the object. A WarpSync must follow before the copy is used.
func (w *warp) stage(object ptx.Global64, length ptx.U32, offset, most, pad int) ptx.U32 {
	skew := object.Low().And(n(sectorBytes - 1))
	quads := skew.Add(length).Add(n(quadBytes - 1)).Shr(n(4))
	left := quads.Sub(w.lane) // quads from the lane's first one to the end, negative behind them
	from := object.AlignDown(sectorBytes).Index(w.lane, quadBytes)
	to := w.memory.Add(w.lane.Shl(n(4))).At(offset)
	w.stageRows(from, to, left, 0, rowBytes*stageFirst)
	w.If(quads.Gt(n(lanes*stageFirst)), func() {
		w.stageRows(from, to, left, rowBytes*stageFirst, most+sectorBytes-1)
	})
	if pad > 0 {
		behind := w.memory.Add(quads.Shl(n(4))).Add(w.lane.Shl(n(2))).At(offset)
		w.When(w.lane.Lt(n(pad/4)), func() { behind.StoreU32(n(0)) })
	}
	return skew.Add(n(offset))
}

// stageFirst is how many rows of an object are loaded without a check of its length: most objects
// have no more.
const stageFirst = 4

// stageRows starts all loads before it waits for the first.
func (w *warp) stageRows(from ptx.Global64, to ptx.Shared32, left ptx.U32, begin, end int) {
	var quads []func() [4]ptx.U32
	var wanted []ptx.Pred
	for at := begin; at < end; at += rowBytes {
		p := left.GtS(n(at / quadBytes))
		quads, wanted = append(quads, w.loadWhere(p, from.At(at))), append(wanted, p)
	}
	for i, quad := range quads {
		w.When(wanted[i], func() { to.At(begin + i*rowBytes).StoreV4(quad()) })
	}
}

// loadWhere starts a load of 16 bytes in the lanes that want them. quad returns the words, zeros in
// the other lanes.
func (w *warp) loadWhere(wanted ptx.Pred, from ptx.Global64) (quad func() [4]ptx.U32) {
	var words [4]*ptx.Var[ptx.U32]
	for i := range words {
		words[i] = ptx.NewVar(w.Builder, n(0))
	}
	w.When(wanted, func() {
		for i, v := range from.LoadV4() {
			words[i].Set(v)
		}
	})
	return func() [4]ptx.U32 { return [4]ptx.U32{words[0].Get(), words[1].Get(), words[2].Get(), words[3].Get()} }
}

// flush copies the page at the beginning of the warp's memory to its place.
func (w *warp) flush(to ptx.Global64) {
	from, to := w.memory.Add(w.lane.Shl(n(4))), to.Index(w.lane, quadBytes)
	rows(PageSize, func(offset int) { to.At(offset).StoreV4(from.At(offset).LoadV4()) })
}

// hashPage returns [Hash] of the page at the beginning of the warp's memory.
func (w *warp) hashPage() ptx.U64 {
	h, from := w.hashSeed(), w.memory.Add(w.lane.Shl(n(4)))
	rows(PageSize, func(offset int) { h = addQuad(h, from.At(offset).LoadV4()) })
	return w.endHash(h, ptx.N64(0))
}

// hashObject returns [Hash] of the object that begins at from, with zeros to a granule's end.
func (w *warp) hashObject(from ptx.Global64, length ptx.U32) ptx.U64 {
	h, mine := ptx.NewVar(w.Builder, w.hashSeed()), from.Index(w.lane, quadBytes)
	w.stride(granulesOf(length), func(k ptx.U32, within ptx.Pred) {
		h.Set(addQuad(h.Get(), w.loadWhere(within, mine.Index(k, quadBytes))()))
	})
	return w.endHash(h.Get(), n(0).Sub(length).And(n(rowBytes-1)).Wide())
}

// hashSeed is the hash that each lane begins with.
func (w *warp) hashSeed() ptx.U64 { return w.lane.Add(n(1)).Wide().Mul(ptx.N64(hashSeed)) }

// endHash returns the hash of all lanes, with the number of zeros behind the data.
func (w *warp) endHash(h, zeros ptx.U64) ptx.U64 {
	h = addToHash(addToHash(h, ptx.N64(0)), ptx.N64(0))
	for mask := lanes / 2; mask > 0; mask /= 2 {
		h = h.Add(w.ShflBflyU64(h, n(mask)))
	}
	return addToHash(h, zeros)
}

// addQuad adds the two words of a lane's 16 bytes.
func addQuad(h ptx.U64, q [4]ptx.U32) ptx.U64 {
	return addToHash(addToHash(h, q[0].Pack(q[1])), q[2].Pack(q[3]))
}

// addToHash is hashWord.
func addToHash(h, word ptx.U64) ptx.U64 {
	h = h.Xor(word).Mul(ptx.N64(hashFactor))
	return h.Xor(h.Shr(n(32)))
}
