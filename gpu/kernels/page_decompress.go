// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// The shared memory of a warp that decompresses the page format: the page, a bit for each byte that
// a batch writes, and the object.
const (
	pageWarpsPerBlock = 4
	marksAt           = PageSize
	marksBytes        = PageSize / 8
	pageInputAt       = marksAt + marksBytes
	pageStagedBytes   = (MaxPageObject + sectorBytes - 1 + quadBytes - 1) / quadBytes * quadBytes
	pageWarpBytes     = pageInputAt + pageStagedBytes
)

// headerSize is how many bytes of an object hold its counts.
const headerSize = 3

// pageDecoder is a warp that decompresses an object of the page format, 32 tokens at a time, one a
// lane.
type pageDecoder struct {
	*warp
	table  ptx.Shared32 // the block's copy of [PageTable]
	status *ptx.Var[ptx.U32]
	// Offsets in the warp's memory: the next item of each stream, and the end of the last.
	token, tokensEnd       *ptx.Var[ptx.U32]
	literal, literalsEnd   *ptx.Var[ptx.U32]
	near, far              *ptx.Var[ptx.U32]
	out                    *ptx.Var[ptx.U32] // bytes of the page that are written
	remembered             *ptx.Var[ptx.U32] // a remembered distance in each of the first four lanes
	literals, length, dist *ptx.Var[ptx.U32] // the lane's token
}

// PageDecompress builds page_decompress, which makes pages of objects of the page format.
func PageDecompress() (*ptx.Kernel, error) {
	w := newWarp("page_decompress", pageWarpsPerBlock, pageWarpBytes)
	objects, lengths, pages, statuses := w.ParamGlobal("objects"), w.ParamGlobal("lengths"), w.ParamGlobal("pages"), w.ParamGlobal("statuses")
	w.pages = w.ParamU32("n")
	table := w.pageTable(w.ParamGlobal("table"))
	w.eachPage(func(page ptx.U32) {
		status := w.pageObject(table, objects, lengths, page)
		w.If(status.Eq(n(StatusOK)), func() { w.flush(pages.Index(page, PageSize)) })
		w.storeStatus(statuses.Index(page, 4), status)
	})
	return w.Build()
}

// PageVerify builds page_verify, which returns the hashes of the pages of objects of the page
// format.
func PageVerify() (*ptx.Kernel, error) {
	w := newWarp("page_verify", pageWarpsPerBlock, pageWarpBytes)
	objects, lengths, hashes, statuses := w.ParamGlobal("objects"), w.ParamGlobal("lengths"), w.ParamGlobal("hashes"), w.ParamGlobal("statuses")
	w.pages = w.ParamU32("n")
	table := w.pageTable(w.ParamGlobal("table"))
	w.eachPage(func(page ptx.U32) {
		status := w.pageObject(table, objects, lengths, page)
		w.storeHash(hashes.Index(page, 8), status)
		w.storeStatus(statuses.Index(page, 4), status)
	})
	return w.Build()
}

// pageTable copies the table to shared memory, for all warps of the block.
func (w *warp) pageTable(from ptx.Global64) ptx.Shared32 {
	table, thread := w.Shared("table", PageTableSize, quadBytes), w.TidX()
	w.If(thread.Lt(n(PageTableSize/quadBytes)), func() {
		table.Add(thread.Shl(n(4))).StoreV4(from.Index(thread, quadBytes).LoadV4())
	})
	w.BlockSync()
	return table
}

// pageObject decompresses one object into the warp's memory, where all lanes can read it, and
// returns its status.
func (w *warp) pageObject(table ptx.Shared32, objects, lengths ptx.Global64, page ptx.U32) ptx.U32 {
	d := pageDecoder{warp: w, table: table, status: ptx.NewUniform(w.Builder, n(StatusCorrupt))}
	length := lengths.Index(page, 4).LoadU32()
	w.If(length.Sub(n(headerSize)).Le(n(MaxPageObject-headerSize)), func() {
		start := w.stage(objects.Index(page, 8).LoadGlobal(), length, pageInputAt, MaxPageObject, 0)
		w.WarpSync()
		at := w.at(start)
		counts := at.At(2).LoadU8().Shl(n(16)).Or(at.At(1).LoadU8().Shl(n(8))).Or(at.LoadU8())
		literals, tokens := counts.And(n(0xfff)), counts.Shr(n(12))
		w.If(literals.Add(tokens).Le(length.Sub(n(headerSize))), func() {
			d.begin(start.Add(n(headerSize)), literals, start.Add(length), tokens)
			w.Loop(d.batch)
		})
		w.WarpSync()
	})
	return d.status.Get()
}

// begin places the streams.
func (d *pageDecoder) begin(start, literals, end, tokens ptx.U32) {
	uniform := func(v ptx.U32) *ptx.Var[ptx.U32] { return ptx.NewUniform(d.Builder, v) }
	d.literal, d.literalsEnd = uniform(start), uniform(start.Add(literals))
	d.token, d.tokensEnd = uniform(end.Sub(tokens)), uniform(end)
	d.near, d.far = uniform(d.literalsEnd.Get()), uniform(d.token.Get())
	d.out = uniform(n(0))
	// 1, 8, 4 and 16.
	d.remembered = ptx.NewVar(d.Builder, n(0x10040801).Shr(d.lane.And(n(3)).Shl(n(3))).And(n(0xff)))
}

// batch does up to 32 tokens, or ends the loop: at the end of the tokens, or at an error, which the
// status has recorded.
func (d *pageDecoder) batch() {
	d.If(d.token.Get().Ge(d.tokensEnd.Get()), func() {
		whole := d.out.Get().Eq(n(PageSize)).And(d.literal.Get().Eq(d.literalsEnd.Get())).And(d.near.Get().Eq(d.far.Get()))
		d.status.Set(ptx.Select(whole, n(StatusOK), n(StatusCorrupt)))
		d.Break()
	})
	active := d.lane.Lt(d.tokensEnd.Get().Sub(d.token.Get()))
	kind := d.look(active)
	d.distances(kind)
	literals, length := d.literals.Get(), d.length.Get()
	both := literals.Add(length)
	literalsTo, outTo := d.sum(literals), d.sum(both)
	literalsAll, outAll := d.ShflIdx(literalsTo, n(lanes-1)), d.ShflIdx(outTo, n(lanes-1))
	d.breakIf(d.literal.Get().Add(literalsAll).Gt(d.literalsEnd.Get()).Or(d.out.Get().Add(outAll).Gt(n(PageSize))))
	distance := d.remember(kind)
	first := outTo.Sub(both) // where the token's bytes begin among those of the batch
	match := first.Add(literals)
	d.breakIf(d.Any(length.Ne(n(0)).And(distance.Sub(n(1)).Ge(d.out.Get().Add(match)))))
	d.mark(active, first)
	d.copy(match.Or(outTo.Sub(length).Sub(literalsTo).Shl(n(16))), distance, outAll)
	d.literal.Set(d.literal.Get().Add(literalsAll))
	d.out.Set(d.out.Get().Add(outAll))
	d.token.Set(d.token.Get().Add(n(lanes)))
}

func (d *pageDecoder) breakIf(wrong ptx.Pred) { d.If(wrong, func() { d.Break() }) }

// look looks the lane's token up in the table and returns its kind. A lane without a token has one
// without effect.
func (d *pageDecoder) look(active ptx.Pred) (kind ptx.U32) {
	number, at := ptx.NewVar(d.Builder, n(0)), d.byLane.Add(d.token.Get())
	d.When(active, func() { number.Set(at.LoadU8()) })
	entry := ptx.Select(active, d.table.Add(number.Get().Shl(n(2))).LoadU32(), n(0))
	d.literals = ptx.NewVar(d.Builder, entry.And(n(0xff)))
	d.length = ptx.NewVar(d.Builder, entry.Bfe(n(entryLength), n(8)))
	return entry.Shr(n(entryKind))
}

// distances takes the bytes and words of distances of all tokens at once, near ones from the front
// of their stream, far ones from its back, and ends the loop if there are too few.
func (d *pageDecoder) distances(kind ptx.U32) {
	d.dist = ptx.NewVar(d.Builder, n(0))
	isFar := kind.Eq(n(kindFar))
	isNear := kind.Ge(n(kindNear)).And(isFar.Not())
	nears, fars, below := d.Ballot(isNear), d.Ballot(isFar), d.LanemaskLT()
	nearNext, farNext := d.near.Get().Add(nears.Popc()), d.far.Get().Sub(fars.Popc().Shl(n(1)))
	d.breakIf(nearNext.Gt(farNext))
	d.If(nears.Ne(n(0)), func() {
		at, value := d.at(d.near.Get().Add(nears.And(below).Popc())), ptx.NewVar(d.Builder, n(0))
		d.When(isNear, func() { value.Set(at.LoadU8()) })
		b := value.Get()
		d.dist.Set(ptx.Select(b.Lt(n(nearDense)), b.Add(n(1)), b.Mad(n(nearStep), ptx.N(nearBase))))
		run := b.Mad(n(runUnit), n(runUnit))
		d.When(kind.Eq(n(kindLiteralRun)), func() { d.literals.Set(run) })
		d.When(kind.Eq(n(kindMatchRun)), func() { d.length.Set(run) })
	})
	d.If(fars.Ne(n(0)), func() {
		at := d.at(d.far.Get().Sub(fars.And(below).Popc().Shl(n(1))).Sub(n(2)))
		low, high := ptx.NewVar(d.Builder, n(0)), ptx.NewVar(d.Builder, n(0))
		d.When(isFar, func() {
			low.Set(at.LoadU8())
			high.Set(at.At(1).LoadU8())
		})
		word := high.Get().And(n(15)).Mad(n(256), low.Get())
		d.When(isFar, func() { d.dist.Set(word) })
		d.length.Set(high.Get().Shr(n(4)).Add(d.length.Get()))
	})
	d.near.Set(nearNext)
	d.far.Set(farNext)
}

// sum returns the sum of v over this lane and all below.
func (w *warp) sum(v ptx.U32) ptx.U32 {
	sum := ptx.NewVar(w.Builder, v)
	for distance := 1; distance < lanes; distance *= 2 {
		before := w.ShflUp(sum.Get(), n(distance))
		w.When(w.lane.Ge(n(distance)), func() { sum.Set(sum.Get().Add(before)) })
	}
	return sum.Get()
}

// remember returns the distance of each lane's match and moves the remembered ones. A token's
// effect on these is a move: a byte for each rank with its source, 0 to 3 for the former distance
// of that rank, and 128 and more for the distance of the lane of that number. A scan over the lanes
// combines the moves.
func (d *pageDecoder) remember(kind ptx.U32) ptx.U32 {
	initial := ptx.Select(kind.Eq(n(1)), n(moveSecond), n(moveLast))
	initial = ptx.Select(kind.Eq(n(2)), n(moveThird), initial)
	initial = ptx.Select(kind.Eq(n(3)), n(moveFourth), initial)
	initial = ptx.Select(kind.Shr(n(1)).Eq(n(kindNear/2)), d.lane.Or(n(moveNew|moveOfLane)), initial)
	move := ptx.NewVar(d.Builder, initial)
	for distance := 1; distance < lanes; distance *= 2 {
		both := d.then(d.ShflUp(move.Get(), n(distance)), move.Get())
		d.When(d.lane.Ge(n(distance)), func() { move.Set(both) })
	}
	distance := d.source(move.Get().And(n(0xff)))
	last := d.ShflIdx(move.Get(), n(lanes-1))
	d.remembered.Set(d.source(last.Shr(d.lane.Shl(n(3))).And(n(0xff))))
	return distance
}

// source returns the distance that one byte of a move stands for; each lane has a byte.
func (d *pageDecoder) source(from ptx.U32) ptx.U32 {
	new, old := d.ShflIdx(d.dist.Get(), from), d.ShflIdx(d.remembered.Get(), from)
	return ptx.Select(from.Ge(n(moveOfLane)), new, old)
}

// then returns the move that does first and afterwards second: where second takes from a rank, it
// takes from first's source of that rank.
func (d *pageDecoder) then(first, second ptx.U32) ptx.U32 {
	isLane := second.Prmt(second, n(0xba98)) // the bytes' signs
	pick := second.Xor(second.Xor(n(0x07060504)).And(isLane))
	pick = pick.Or(pick.Shr(n(4)))
	return first.Prmt(second, pick.Prmt(pick, n(0x0020)))
}

// mark sets a bit for each byte of the batch at which a token begins.
func (d *pageDecoder) mark(active ptx.Pred, first ptx.U32) {
	marks, zero := d.memory.At(marksAt), n(0)
	marks.Add(d.lane.Shl(n(4))).StoreV4([4]ptx.U32{zero, zero, zero, zero})
	d.WarpSync()
	at, bit := marks.Add(first.Shr(n(5)).Shl(n(2))), n(1).Shl(first.And(n(31)))
	d.When(active, func() { at.AtomicOr(bit) })
	d.WarpSync()
}

// copy writes the batch's bytes, 32 at a time, a byte a lane. Its arguments are, for each lane's
// token, where in the batch the match begins and, in the upper half, how many bytes of matches lie
// before it.
func (d *pageDecoder) copy(places, distances, all ptx.U32) {
	before := ptx.NewUniform(d.Builder, ptx.N(^uint32(0)))
	upTo := d.LanemaskLT().Shl(n(1)).Or(n(1))
	d.stride(all, func(k ptx.U32, within ptx.Pred) {
		mark := d.memory.Add(k.Shr(n(3))).At(marksAt).LoadU32()
		token := before.Get().Add(mark.And(upTo).Popc())
		place, distance := d.ShflIdx(places, token), d.ShflIdx(distances, token)
		at := k.Add(d.lane)
		isLiteral := at.Lt(place.And(n(0xffff)))
		from := d.settle(isLiteral, distance, ptx.Select(isLiteral,
			d.literal.Get().Sub(place.Shr(n(16))), d.out.Get().Sub(distance)).Add(at))
		to := d.at(d.out.Get()).Add(at)
		d.WarpSync()
		d.copyByte(within, to, d.at(from))
		before.Set(before.Get().Add(mark.Popc()))
	})
}

// settle returns the source of each lane's byte. A source that is another lane's byte of this step
// is replaced by the source of that: each round halves the remaining way.
func (d *pageDecoder) settle(isLiteral ptx.Pred, distance, from ptx.U32) ptx.U32 {
	source := ptx.NewVar(d.Builder, from)
	unsettled := isLiteral.Not().And(distance.Le(d.lane))
	d.If(d.Any(unsettled), func() {
		source.Set(ptx.Select(unsettled, d.lane.Sub(distance).Or(ptx.N(1<<31)), source.Get()))
		d.Repeat(func() ptx.Pred {
			others := d.ShflIdx(source.Get(), source.Get())
			source.Set(ptx.Select(source.Get().LtS(n(0)), others, source.Get()))
			return d.Any(source.Get().LtS(n(0)))
		})
	})
	return source.Get()
}
