// SPDX-License-Identifier: Apache-2.0

package page

import "math/bits"

const (
	// mostEdges is how many tokens of one kind and number of literals are tried for a match:
	// those that take most of it.
	mostEdges = 3
	// ahead is how many later positions are compared with one, and progress what each byte
	// between them may cost.
	ahead    = 8
	progress = priceBit
	// longRun is the length of a match at the last distance from which on it is always taken.
	longRun = 96
	// unreached is the cost of a position that no token ends at so far.
	unreached = 1 << 30
)

// A clusterStep is the cheapest way so far from the start of a page to a position: the token
// that ends there, and what lies before it.
type clusterStep struct {
	from     uint16 // where the token begins
	distance uint16
	token    uint8
	kind     uint8
	near     uint8  // of a run
	reps     uint64 // the remembered distances behind the token
}

// A clusterParser finds the cheapest tokens for the pages of a text at given prices. It weighs
// all ways to a position against one another, but knows the remembered distances only of the
// cheapest one.
type clusterParser struct {
	clusterFinder
	prices      prices
	differences bool // literals are priced as differences
	steps       [Size + 1]clusterStep
	costs       [Size + 1]uint32           // of the steps
	first       [Size + maxLiterals]uint32 // where the candidates of a position begin
	literals    [maxLiterals + 1]uint32    // the price of as many literals from the position on
	base        int                        // where the page begins in the text
}

// parse finds the tokens of a page, which begins with the remembered distances that the page
// before left, and returns those that it leaves. The steps hold the way, from the page's end
// back.
func (p *clusterParser) parse(page int, reps uint64) uint64 {
	p.base = page * Size
	next := uint32(p.starts[page])
	for at := range Size {
		p.first[at] = next
		next += uint32(p.found[p.base+at])
		p.costs[at+1] = unreached
	}
	for at := Size; at < len(p.first); at++ {
		p.first[at] = next
	}
	p.steps[0] = clusterStep{reps: reps}
	for at := range Size {
		if p.hopeless(at) {
			continue
		}
		if s := &p.steps[at]; at > 0 {
			s.reps = remember(p.steps[s.from].reps, s.kind, int(s.distance))
		}
		p.leave(at)
	}
	s := &p.steps[Size]
	return remember(p.steps[s.from].reps, s.kind, int(s.distance))
}

// hopeless reports whether a position cannot be reached, or a later one for little more.
func (p *clusterParser) hopeless(at int) bool {
	cost := p.costs[at]
	if cost >= unreached {
		return true
	}
	for _, later := range p.costs[at+1 : min(at+1+ahead, Size)] {
		if cost += progress; later <= cost {
			return true
		}
	}
	return false
}

// leave tries all tokens that may follow at a position. Behind a token of literals alone,
// unless it is the longest, only a match may follow: other ways have the same literals in one
// token.
func (p *clusterParser) leave(at int) {
	s := &p.steps[at]
	if p.leaveByRun(at, s) {
		return
	}
	joined := 0
	if t := clusterTokens[s.token]; at == 0 || t.length > 0 || t.literals == maxLiterals {
		p.leaveByLiterals(at, s)
		joined = min(maxJoined, Size-1-at)
	}
	for kind := range uint8(near) {
		p.leaveByRemembered(at, s, kind, joined)
	}
	for literals := 0; literals <= joined; literals++ {
		begin, end := p.first[at+literals], p.first[at+literals+1]
		if begin < end {
			p.leaveByCandidates(at, p.costs[at]+p.literals[literals], literals, p.candidates[begin:end])
		}
	}
}

// leaveByLiterals prices the literals from a position on and tries the tokens of literals
// alone.
func (p *clusterParser) leaveByLiterals(at int, s *clusterStep) {
	text := p.text[margin+p.base+at:][:maxLiterals]
	before := p.text[margin+p.base+at-referenceOf(int(s.reps&0xffff)):][:maxLiterals]
	price := uint32(0)
	for i, b := range text[:min(maxLiterals, Size-at)] {
		if p.differences {
			b -= before[i]
		}
		price += uint32(p.prices[literalSegment][b])
		p.literals[i+1] = price
		number := literalTokens[i+1]
		p.reach(at, at+i+1, p.costs[at]+price+uint32(p.prices[tokenSegment][number]), number, rep0, int(s.reps&0xffff))
	}
}

// leaveByRemembered tries the matches at a remembered distance that begin up to eight bytes
// behind a position and could not begin earlier.
func (p *clusterParser) leaveByRemembered(at int, s *clusterStep, kind uint8, joined int) {
	here := p.base + at
	distance := int(s.reps >> (16 * kind) & 0xffff)
	if distance > here {
		return
	}
	repeats := zeroBytes(p.eight(here) ^ p.eight(here-distance))
	// A single byte may be repeated at once and at the last distance alone.
	starts := repeats &^ (repeats << 8) & (repeats>>8 | 0x80<<56)
	if kind == rep0 {
		starts |= repeats & 0x80
	}
	if joined == 0 {
		starts &= 0x80
	}
	for ; starts != 0; starts &= starts - 1 {
		literals := bits.TrailingZeros64(starts) / 8
		if literals > joined {
			return
		}
		length := p.equal(here+literals, distance, min(maxLength, Size-at-literals))
		cost := p.costs[at]
		if literals > 0 {
			cost += p.literals[literals]
		}
		p.match(at, cost, literals, kind, distance, length, 0)
	}
}

// leaveByRun tries a run of a match at the last distance. It reports whether that is so long
// that nothing else is worth a try.
func (p *clusterParser) leaveByRun(at int, s *clusterStep) bool {
	here, distance := p.base+at, int(s.reps&0xffff)
	if distance > here || p.eight(here) != p.eight(here-distance) {
		return false
	}
	length := p.equal(here, distance, Size-at)
	if length <= maxLength {
		return false
	}
	units := length / runUnit
	cost := p.costs[at] + uint32(p.prices[tokenSegment][matchRun]) + uint32(p.prices[nearSegment][units-1])
	if end := at + units*runUnit; p.reach(at, end, cost, matchRun, rep0, distance) {
		p.steps[end].near = uint8(units - 1)
	}
	return length >= longRun
}

// leaveByCandidates tries the matches at new distances behind a number of literals. A longer
// one than the one before it is tried for what the tokens can say that the other was too short
// for.
func (p *clusterParser) leaveByCandidates(at int, cost uint32, literals int, candidates []candidate) {
	var shorter [kinds]int
	for _, c := range candidates {
		if literals > 0 && c&candidateFirst == 0 {
			continue
		}
		distance := c.distance()
		if isNear(distance) {
			price := uint32(p.prices[nearSegment][nearByte(distance)])
			p.match(at, cost+price, literals, near, distance, c.length(), shorter[near])
			shorter[near] = c.length()
		} else {
			price := uint32(p.prices[farLowSegment][distance&0xff]) + uint32(p.prices[farHighSegment][distance>>8])
			p.match(at, cost+price, literals, far, distance, c.length(), max(shorter[near], shorter[far]))
			shorter[far] = c.length()
		}
	}
}

// match tries the tokens that take most of a match behind a number of literals, and more than
// the shorter length.
func (p *clusterParser) match(at int, cost uint32, literals int, kind uint8, distance, length, shorter int) {
	e := &clusterEdges[kind][literals]
	list := e.list[e.start[min(length, maxLength)]:]
	for _, edge := range list[:min(mostEdges, len(list))] {
		if int(edge.length) <= shorter {
			return
		}
		end := at + literals + int(edge.length)
		p.reach(at, end, cost+uint32(p.prices[tokenSegment][edge.number]), edge.number, kind, distance)
	}
}

// reach takes a token as the way to its end if it is the cheapest so far.
func (p *clusterParser) reach(at, end int, cost uint32, number, kind uint8, distance int) bool {
	if cost >= p.costs[end] {
		return false
	}
	s := &p.steps[end]
	p.costs[end], s.from, s.distance, s.token, s.kind = cost, uint16(at), uint16(distance), number, kind
	return true
}
