// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// The shared memory of a warp that decompresses: the page, then the staged object with room before
// and behind it.
const (
	lz4WarpsPerBlock = 4
	lz4InputAt       = PageSize
	lz4StagedBytes   = (MaxLZ4Object + sectorBytes - 1 + quadBytes - 1) / quadBytes * quadBytes
	lz4WarpBytes     = lz4InputAt + lz4StagedBytes + lz4Pad
)

// endless is a length beyond any object and page.
const endless = 1 << 30

// lz4Decoder is a warp that decompresses an LZ4 object. Except for the copying all lanes do the
// same.
type lz4Decoder struct {
	*warp
	status *ptx.Var[ptx.U32]
	end    ptx.U32 // offset in the warp's memory behind the object
	last   ptx.U32 // of the last word that lies within it
	// The state between two sequences: the token, the offset of the byte behind it, and the bytes
	// of the page that are written.
	token, in, out *ptx.Var[ptx.U32]
	// reciprocal is 1024 divided by the lane's number, rounded up: a quotient k / d is k *
	// reciprocal(d) >> 10 for k and d of up to 32.
	reciprocal ptx.U32
}

// LZ4Decompress builds lz4_decompress, which makes pages of LZ4 objects.
func LZ4Decompress() (*ptx.Kernel, error) {
	w := newWarp("lz4_decompress", lz4WarpsPerBlock, lz4WarpBytes)
	objects, lengths, pages, statuses := w.ParamGlobal("objects"), w.ParamGlobal("lengths"), w.ParamGlobal("pages"), w.ParamGlobal("statuses")
	w.pages = w.ParamU32("n")
	reciprocal := w.reciprocal()
	w.eachPage(func(page ptx.U32) {
		status := w.lz4Object(objects.Index(page, 8).LoadGlobal(), lengths.Index(page, 4).LoadU32(), reciprocal)
		w.If(status.Eq(n(StatusOK)), func() { w.flush(pages.Index(page, PageSize)) })
		w.storeStatus(statuses.Index(page, 4), status)
	})
	return w.Build()
}

// LZ4Verify builds lz4_verify, which returns the hashes of the pages of LZ4 objects.
func LZ4Verify() (*ptx.Kernel, error) {
	w := newWarp("lz4_verify", lz4WarpsPerBlock, lz4WarpBytes)
	objects, lengths, hashes, statuses := w.ParamGlobal("objects"), w.ParamGlobal("lengths"), w.ParamGlobal("hashes"), w.ParamGlobal("statuses")
	w.pages = w.ParamU32("n")
	reciprocal := w.reciprocal()
	w.eachPage(func(page ptx.U32) {
		status := w.lz4Object(objects.Index(page, 8).LoadGlobal(), lengths.Index(page, 4).LoadU32(), reciprocal)
		w.storeHash(hashes.Index(page, 8), status)
		w.storeStatus(statuses.Index(page, 4), status)
	})
	return w.Build()
}

// storeHash writes the hash of the decompressed page, 0 for a corrupt one.
func (w *warp) storeHash(to ptx.Global64, status ptx.U32) {
	hash := ptx.NewVar(w.Builder, ptx.N64(0))
	w.If(status.Eq(n(StatusOK)), func() { hash.Set(w.hashPage()) })
	w.When(w.first(), func() { to.StoreU64(hash.Get()) })
}

func (w *warp) reciprocal() ptx.U32 {
	lane := w.lane.Max(n(1))
	return lane.Add(n(1023)).Div(lane)
}

// lz4Object decompresses one object into the warp's memory, where all lanes can read it, and
// returns its status.
func (w *warp) lz4Object(object ptx.Global64, length, reciprocal ptx.U32) ptx.U32 {
	d := lz4Decoder{warp: w, reciprocal: reciprocal, status: ptx.NewUniform(w.Builder, n(StatusCorrupt))}
	w.If(length.Sub(n(1)).Lt(n(MaxLZ4Object)), func() {
		start := w.stage(object, length, lz4InputAt, MaxLZ4Object, lz4Pad)
		d.end = start.Add(length)
		d.last = d.end.Sub(n(4))
		w.WarpSync()
		d.token = ptx.NewUniform(w.Builder, w.at(start).LoadU8())
		d.in = ptx.NewUniform(w.Builder, start.Add(n(1)))
		d.out = ptx.NewUniform(w.Builder, n(0))
		w.Loop(d.sequence)
		w.WarpSync()
	})
	return d.status.Get()
}

// sequence does one sequence. If it has few literals and lies well within object and page, all of
// it is in the word behind the literals: the distance, a byte of length if there is one, and the
// next token.
func (d *lz4Decoder) sequence() {
	literals, match := d.token.Get().Shr(n(4)), d.token.Get().And(n(15))
	behind := d.in.Get().Add(literals)
	word := d.wordAt(behind)
	distance, length := word.And(n(0xffff)), ptx.NewUniform(d.Builder, match.Add(n(minMatch)))
	d.token.Set(word.Bfe(n(16), n(8)))
	isLong := match.Eq(n(escape))
	d.If(isLong, func() {
		more := d.token.Get()
		length.Set(ptx.Select(more.Eq(n(255)), n(endless), more.Add(n(escape+minMatch))))
		d.token.Set(word.Shr(n(24)))
	})
	middle := d.out.Get().Add(literals)
	end := middle.Add(length.Get())
	rare := literals.Eq(n(escape)).Or(behind.Gt(d.last)).Or(end.Gt(n(PageSize))).Or(distance.Sub(n(1)).Ge(middle))
	d.IfElse(rare, func() { d.anySequence(literals, match) }, func() {
		d.IfElse(isLong, func() {
			d.copyByte(d.lane.Lt(literals), d.byLane.Add(d.out.Get()), d.byLane.Add(d.in.Get()))
			d.match(middle, distance, length.Get())
			d.in.Set(behind.Add(n(4)))
		}, func() {
			d.step(literals, length.Get(), distance, end)
			d.in.Set(behind.Add(n(3)))
		})
		d.out.Set(end)
	})
}

// step writes a sequence without bytes of length, which has 32 bytes at most. Each lane finds its
// own byte: among the literals, in the page, or, where the match repeats itself, a whole number of
// distances before.
func (d *lz4Decoder) step(literals, length, distance, end ptx.U32) {
	back := ptx.NewVar(d.Builder, distance)
	d.If(distance.Lt(length), func() {
		times := d.lane.Sub(literals).Mul(d.ShflIdx(d.reciprocal, distance)).Shr(n(10))
		back.Set(times.Mad(distance, distance))
	})
	less := ptx.Select(d.lane.Lt(literals), n(0), back.Get())
	// A match may begin in its own sequence's literals: those are read from the object, too.
	base := ptx.Select(d.lane.Lt(less), d.out.Get(), d.in.Get())
	from, to := d.byLane.Add(base.Sub(less)), d.byLane.Add(d.out.Get())
	d.WarpSync()
	d.copyByte(d.lane.Lt(end.Sub(d.out.Get())), to, from)
}

// anySequence does a sequence of any kind, or ends the loop.
func (d *lz4Decoder) anySequence(literalHalf, matchHalf ptx.U32) {
	literals := d.length(literalHalf)
	d.breakIf(literals.Gt(d.end.Sub(d.in.Get())).Or(literals.Gt(n(PageSize).Sub(d.out.Get()))))
	from, to := d.byLane.Add(d.in.Get()), d.byLane.Add(d.out.Get())
	d.stride(literals, func(k ptx.U32, within ptx.Pred) {
		d.copyByte(within, to.Add(k), from.Add(k))
	})
	d.in.Set(d.in.Get().Add(literals))
	d.out.Set(d.out.Get().Add(literals))
	left := d.end.Sub(d.in.Get())
	d.If(left.Lt(n(2)), func() {
		// Only the last sequence has no match.
		whole := left.Eq(n(0)).And(d.out.Get().Eq(n(PageSize)))
		d.status.Set(ptx.Select(whole, n(StatusOK), n(StatusCorrupt)))
		d.Break() // the status is known
	})
	at := d.at(d.in.Get())
	distance := at.At(1).LoadU8().Mad(n(256), at.LoadU8())
	d.in.Set(d.in.Get().Add(n(2)))
	length := d.length(matchHalf).Add(n(minMatch))
	out := d.out.Copy()
	d.breakIf(length.Gt(n(PageSize).Sub(out)).Or(distance.Sub(n(1)).Ge(out)).Or(d.in.Get().Ge(d.end)))
	d.match(out, distance, length)
	d.out.Set(out.Add(length))
	d.token.Set(d.at(d.in.Get()).LoadU8())
	d.in.Set(d.in.Get().Add(n(1)))
}

// breakIf ends the loop over sequences where something is wrong; the status says so already.
func (d *lz4Decoder) breakIf(wrong ptx.Pred) { d.If(wrong, func() { d.Break() }) }

// length reads the bytes behind a half token that is an escape. If the object ends in them the
// length is endless.
func (d *lz4Decoder) length(half ptx.U32) ptx.U32 {
	length := ptx.NewUniform(d.Builder, half)
	d.If(half.Eq(n(escape)), func() {
		d.Loop(func() {
			d.If(d.in.Get().Ge(d.end), func() {
				length.Set(n(endless))
				d.Break() // it would stay endless
			})
			more := d.at(d.in.Get()).LoadU8()
			d.in.Set(d.in.Get().Add(n(1)))
			length.Set(length.Get().Add(more))
			d.BreakIf(more.Ne(n(255)))
		})
	})
	return length.Get()
}

// match writes a match of any length. It only reads bytes that were there before the match, so no
// lane waits for another: each cycles through the last distance bytes by steps of 32.
func (d *lz4Decoder) match(out, distance, length ptx.U32) {
	place, step := ptx.NewVar(d.Builder, d.lane), ptx.NewUniform(d.Builder, n(lanes))
	d.If(distance.Lt(n(lanes)), func() {
		reciprocal := d.ShflIdx(d.reciprocal, distance)
		place.Set(d.lane.Sub(d.lane.Mul(reciprocal).Shr(n(10)).Mul(distance)))
		step.Set(n(lanes).Sub(reciprocal.Mul(n(lanes)).Shr(n(10)).Mul(distance)))
	})
	from, to := d.at(out.Sub(distance)), d.byLane.Add(out)
	d.WarpSync()
	d.stride(length, func(k ptx.U32, within ptx.Pred) {
		d.copyByte(within, to.Add(k), from.Add(place.Get()))
		next := place.Get().Add(step.Get())
		place.Set(next.Min(next.Sub(distance)))
	})
}
