// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// The shared memory of a warp that compresses: the page with zeros behind it, the table of
// positions, two bytes each, and the object.
const (
	compressWarpsPerBlock = 2
	tableAt               = PageSize + compressPad
	tableBytes            = 2 * tableSize
	objectAt              = tableAt + tableBytes
	compressWarpBytes     = objectAt + PageSize
)

// A window of 32 positions has at most perWindow matches, so a queue of 32 has room for another
// window's, and a last sequence, while it is not fuller than queueFull.
const (
	perWindow = lanes / minMatch
	queueFull = lanes - perWindow - 1
)

// longLiterals is the number of literals from which the warp copies them together; the sequence's
// lane copies fewer.
const longLiterals = 32

// lz4Encoder is a warp that compresses a page. It looks 32 positions up at a time, takes the
// matches from there one after another into a queue with one place a lane, and then writes the
// queue's sequences at once.
type lz4Encoder struct {
	*warp
	table, object ptx.Shared32
	limit         ptx.U32
	// The queue: in each lane the positions of literals and match, then the match's distance and
	// length, the second in the upper half.
	places, matches *ptx.Var[ptx.U32]
	count           *ptx.Var[ptx.U32] // of lanes whose place is taken
	anchor          *ptx.Var[ptx.U32] // where the next sequence's literals begin
	size            *ptx.Var[ptx.U32] // of the object so far
	tooLong         *ptx.Var[ptx.Pred]
}

// LZ4Compress builds lz4_compress, which makes LZ4 objects of pages, packs them, and returns the
// result of each page.
func LZ4Compress() (*ptx.Kernel, error) {
	w := newWarp("lz4_compress", compressWarpsPerBlock, compressWarpBytes)
	pages, results, arena, cursor := w.ParamGlobal("pages"), w.ParamGlobal("results"), w.ParamGlobal("arena"), w.ParamGlobal("cursor")
	granules, limit := w.ParamU32("granules"), w.ParamU32("limit").Min(n(PageSize-1))
	w.pages = w.ParamU32("n")
	w.eachPage(func(page ptx.U32) {
		word, same := w.loadPage(pages.Index(page, PageSize))
		kind, place, size := ptx.NewUniform(w.Builder, n(int(KindSame))), ptx.NewUniform(w.Builder, n(0)), ptx.NewUniform(w.Builder, n(0))
		w.If(same.Not(), func() {
			e := w.compress(limit)
			w.IfElse(e.tooLong.Get(), func() { kind.Set(n(int(KindRaw))) }, func() {
				size.Set(e.size.Get())
				place.Set(e.store(arena, cursor, granules))
				kind.Set(ptx.Select(place.Get().Eq(n(nowhere)), n(int(KindNoSpace)), n(int(KindLZ4))))
			})
		})
		// Lane 0 writes the first half of the result, lane 1 the second.
		first := w.first()
		half := [4]ptx.U32{ptx.Select(first, n(0), place.Get()), ptx.Select(first, n(0), size.Get()), ptx.Select(first, word[0], kind.Get()), ptx.Select(first, word[1], n(0))}
		to := results.Index(page, ResultSize).Index(w.lane, ResultSize/2)
		w.When(w.lane.Lt(n(2)), func() { to.StoreV4(half) })
		// The next page overwrites memory that other lanes may still be loading from.
		w.WarpSync()
	})
	return w.Build()
}

// nowhere is the place of an object that found no space.
const nowhere = 0xffffffff

// loadPage copies a page to shared memory and clears the table. It returns the page's first eight
// bytes, and whether the whole page repeats them.
func (w *warp) loadPage(from ptx.Global64) (word [2]ptx.U32, same ptx.Pred) {
	from, to := from.Index(w.lane, quadBytes), w.memory.Add(w.lane.Shl(n(4)))
	quads := map[int][4]ptx.U32{}
	rows(PageSize, func(offset int) { quads[offset] = from.At(offset).LoadV4() })
	rows(PageSize, func(offset int) { to.At(offset).StoreV4(quads[offset]) })
	zero := n(0)
	rows(tableBytes, func(offset int) { to.At(tableAt + offset).StoreV4([4]ptx.U32{zero, zero, zero, zero}) })
	pad := w.memory.Add(w.lane.Shl(n(2))).At(PageSize)
	w.When(w.lane.Lt(n(compressPad/4)), func() { pad.StoreU32(zero) })
	w.WarpSync()
	for i := range word {
		word[i] = w.ShflIdx(quads[0][i], n(0))
	}
	different := quads[0][0].Xor(word[0])
	rows(PageSize, func(offset int) {
		for i, v := range quads[offset] {
			different = different.Or(v.Xor(word[i%2]))
		}
	})
	return word, w.All(different.Eq(zero))
}

// compress makes the object of the page in shared memory.
func (w *warp) compress(limit ptx.U32) lz4Encoder {
	uniform := func() *ptx.Var[ptx.U32] { return ptx.NewUniform(w.Builder, n(0)) }
	e := lz4Encoder{warp: w, table: w.memory.At(tableAt), object: w.memory.At(objectAt), limit: limit, count: uniform(), anchor: uniform(), size: uniform()}
	e.places, e.matches = ptx.NewVar(w.Builder, n(0)), ptx.NewVar(w.Builder, n(0))
	e.tooLong = ptx.NewUniform(w.Builder, ptx.False)
	base := uniform()
	w.Repeat(func() ptx.Pred {
		hits, from := e.window(base.Get())
		left := ptx.NewUniform(w.Builder, hits)
		w.While(func() ptx.Pred { return left.Get().Ne(n(0)) }, func() {
			lane := left.Get().Ctz()
			end := e.take(base.Get().Add(lane), w.ShflIdx(from, lane))
			left.Set(left.Get().And(ptx.N(^uint32(0)).Shl(end.Sub(base.Get()))))
		})
		base.Set(base.Get().Add(n(lanes)).Max(e.anchor.Get()))
		last := base.Get().Gt(n(lastMatch))
		w.If(last, func() { e.enqueue(e.anchor.Get().Or(n(PageSize<<16)), n(0)) })
		w.If(last.Or(e.count.Get().Gt(n(queueFull))), func() { e.write() })
		return last.Or(e.tooLong.Get()).Not()
	})
	return e
}

// window looks up the 32 positions from base on and enters them. It returns a bit for each lane
// whose position begins a match, and in each lane the position that it repeats: the last one before
// it with the same hash.
func (e *lz4Encoder) window(base ptx.U32) (hits, from ptx.U32) {
	at := base.Add(e.lane)
	valid := at.Le(n(lastMatch))
	low, high, shift := e.around(at)
	word, fifth := low.FunnelR(high, shift), high.FunnelR(n(0), shift).And(n(0xff))
	// The hash, times two: an offset in the table.
	hash := fifth.Mad(ptx.N(hashHigh), word.Mul(ptx.N(hashLow))).Shr(n(32 - tableBits - 1)).And(n(2*tableSize - 2))
	slot := e.table.Add(hash)
	same := e.MatchAny(ptx.Select(valid, hash, e.lane.Or(n(1<<16))))
	before := same.And(e.LanemaskLT())
	from = ptx.Select(before.Eq(n(0)), slot.LoadU16(), base.Add(before.Bfind()))
	repeated := e.wordAt(from)
	hits = e.Ballot(valid.And(from.Lt(at)).And(word.Eq(repeated)))
	// Only the last lane with a hash writes, so there is no race, and the same page always gives
	// the same object.
	e.WarpSync()
	e.When(valid.And(same.Shr(e.lane).Eq(n(1))), func() { slot.StoreU16(at) })
	e.WarpSync()
	return hits, from
}

// take finds the end of the match of a position with another, and puts it into the queue.
func (e *lz4Encoder) take(at, from ptx.U32) (end ptx.U32) {
	distance := at.Sub(from)
	next := ptx.NewUniform(e.Builder, at.Add(n(minMatch)))
	e.Repeat(func() ptx.Pred {
		mine := e.byLane.Add(next.Get())
		theirs := e.byLane.Add(next.Get().Sub(distance))
		ends := mine.LoadU8().Ne(theirs.LoadU8()).Or(next.Get().Add(e.lane).Ge(n(matchStop)))
		different := e.Ballot(ends)
		next.Set(next.Get().Add(different.Ctz()))
		return different.Eq(n(0))
	})
	e.enqueue(at.Mad(n(1<<16), e.anchor.Get()), next.Get().Sub(at).Mad(n(1<<16), distance))
	e.anchor.Set(next.Get())
	return next.Get()
}

// enqueue puts a sequence into the queue: the positions of its literals and its match, and the
// match's distance and length, in two halves each. A match of length 0 is none, and ends the
// object.
func (e *lz4Encoder) enqueue(places, match ptx.U32) {
	e.When(e.lane.Eq(e.count.Get()), func() {
		e.places.Set(places)
		e.matches.Set(match)
	})
	e.count.Set(e.count.Get().Add(n(1)))
}

// sequence describes the sequence that a lane writes.
type sequence struct {
	isThere, isMatch    ptx.Pred
	anchor, literals    ptx.U32
	match               ptx.U32 // the match's length, as the token counts it
	extraLiterals       ptx.U32 // bytes of length behind the token, and behind the distance
	extraMatch, matches ptx.U32
}

// write appends the queue's sequences to the object and empties it, or finds that the object is too
// long.
func (e *lz4Encoder) write() {
	var s sequence
	s.matches = e.matches.Get()
	s.anchor = e.places.Get().And(n(0xffff))
	s.literals = e.places.Get().Shr(n(16)).Sub(s.anchor)
	s.isThere, s.isMatch = e.lane.Lt(e.count.Get()), s.matches.Ge(n(1<<16))
	s.match = s.matches.Shr(n(16)).Sub(n(minMatch))
	s.extraLiterals, s.extraMatch = extraBytes(s.literals), extraBytes(s.match)
	head := s.literals.Add(s.extraLiterals).Add(n(1))
	size := ptx.Select(s.isThere, head.Add(ptx.Select(s.isMatch, s.extraMatch.Add(n(2)), n(0))), n(0))
	sum := e.sum(size)
	all := e.size.Get().Add(e.ShflIdx(sum, n(lanes-1)))
	e.IfElse(all.Gt(e.limit), func() { e.tooLong.Set(ptx.True) }, func() {
		start := e.object.Add(e.size.Get().Add(sum).Sub(size))
		e.If(s.isThere, func() { e.writeSequence(s, start) })
		e.writeLong(s, start)
		e.size.Set(all)
		e.count.Set(n(0))
	})
}

// extraBytes returns how many bytes of length follow a half token: one from 15 on, and another for
// each 255 more. A sequence without a match has a match length of -4, which needs none.
func extraBytes(length ptx.U32) ptx.U32 {
	// (length + 240) / 255, exact for numbers of 16 bits.
	return length.Add(n(255 - escape)).Mul(n(0x8081)).Shr(n(23))
}

// writeSequence writes all of a sequence but long literals. The lanes diverge here.
func (e *lz4Encoder) writeSequence(s sequence, start ptx.Shared32) {
	matchHalf := ptx.Select(s.isMatch, s.match.Min(n(escape)), n(0))
	start.StoreU8(s.literals.Min(n(escape)).Mad(n(16), matchHalf))
	e.If(s.extraLiterals.Gt(n(0)), func() { e.writeExtra(start.At(1), s.literals) })
	literals := start.Add(s.extraLiterals).At(1)
	e.If(s.literals.Lt(n(longLiterals)), func() {
		from := e.at(s.anchor)
		e.For(n(0), s.literals, n(1), func(i ptx.U32) { literals.Add(i).StoreU8(from.Add(i).LoadU8()) })
	})
	e.If(s.isMatch, func() {
		behind := literals.Add(s.literals)
		behind.StoreU8(s.matches)
		behind.At(1).StoreU8(s.matches.Shr(n(8)))
		e.If(s.extraMatch.Gt(n(0)), func() { e.writeExtra(behind.At(2), s.match) })
	})
}

// writeExtra writes the bytes of a length behind a half token.
func (e *lz4Encoder) writeExtra(to ptx.Shared32, length ptx.U32) {
	at, left := ptx.NewVar(e.Builder, to), ptx.NewVar(e.Builder, length.Sub(n(escape)))
	e.While(func() ptx.Pred { return left.Get().Ge(n(255)) }, func() {
		at.Get().StoreU8(n(255))
		at.Set(at.Get().At(1))
		left.Set(left.Get().Sub(n(255)))
	})
	at.Get().StoreU8(left.Get())
}

// writeLong copies the literals of those sequences that have many, one sequence after another.
func (e *lz4Encoder) writeLong(s sequence, start ptx.Shared32) {
	to := start.Add(s.extraLiterals).At(1).Minus(e.memory)
	long := ptx.NewUniform(e.Builder, e.Ballot(s.isThere.And(s.literals.Ge(n(longLiterals)))))
	e.While(func() ptx.Pred { return long.Get().Ne(n(0)) }, func() {
		lane := long.Get().Ctz()
		from, to := e.byLane.Add(e.ShflIdx(s.anchor, lane)), e.byLane.Add(e.ShflIdx(to, lane))
		e.stride(e.ShflIdx(s.literals, lane), func(k ptx.U32, within ptx.Pred) {
			e.copyByte(within, to.Add(k), from.Add(k))
		})
		long.Set(long.Get().And(long.Get().Sub(n(1))))
	})
}

// store finds space for the object and copies it there, with zeros up to the next granule. It
// returns the number of the first granule, or nowhere.
func (e *lz4Encoder) store(arena, cursor ptx.Global64, granules ptx.U32) (place ptx.U32) {
	size := e.size.Get()
	needed := granulesOf(size)
	behind := e.object.Add(size.Add(e.lane))
	e.When(size.Add(e.lane).Lt(needed.Shl(n(4))), func() { behind.StoreU8(n(0)) })
	taken := ptx.NewVar(e.Builder, n(0))
	e.When(e.first(), func() { taken.Set(cursor.AtomicAdd(needed)) })
	found := ptx.NewUniform(e.Builder, e.ShflIdx(taken.Get(), n(0)))
	e.WarpSync()
	e.IfElse(found.Get().Gt(granules).Or(needed.Gt(granules.Sub(found.Get()))), func() { found.Set(n(nowhere)) }, func() {
		to, from := arena.Index(found.Get(), GranuleSize).Index(e.lane, quadBytes), e.object.Add(e.lane.Shl(n(4)))
		e.stride(needed, func(k ptx.U32, within ptx.Pred) {
			to, from := to.Index(k, quadBytes), from.Add(k.Shl(n(4)))
			e.When(within, func() { to.StoreV4(from.LoadV4()) })
		})
	})
	return found.Get()
}
