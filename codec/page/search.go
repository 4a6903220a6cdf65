// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

const (
	// tableBits is the logarithm of the size of the table of positions.
	tableBits = 12
	// hashFactor is 2^64 divided by the golden ratio, times 2^24 so that only the lowest 40 bits of
	// the other factor count: five bytes, and the match must have four of them.
	hashFactor = 0x9E3779B185EBCA87 << 24 & (1<<64 - 1)
	hashShift  = 64 - tableBits
	// tableStep is the distance of the positions that are looked up and entered: every second one.
	// All of them make objects 3 % shorter and take 14 % longer, every fourth one makes them 6 %
	// longer in 95 % of the time.
	tableStep = 2

	// window is how many bytes are compared at each remembered distance at once, and reach how many
	// of them a match may begin at, such that the shortest is seen whole.
	window = 64
	reach  = window - 3
	// lastStart is behind the last position at which a match may begin, so that the shortest and
	// four bytes end in the page.
	lastStart = Size - 2

	// margin is how much room there is around the page and behind the streams for vectors that read
	// or write too much.
	margin = 64
)

// A match is what parse found.
type match struct {
	at       int // where it begins
	length   int
	distance int
	kind     int
}

// A search goes through one page and collects the streams of its object. Package codec/_asm/page
// knows the order and sizes of its fields, up to the last.
type search struct {
	at     int    // where to look for the next match
	anchor int    // where the bytes begin that are in no stream yet
	reps   uint64 // the remembered distances, as in firstReps

	// How much is in each stream, in bytes.
	literals, nears, fars, tokens int

	found match
	_     [8]byte // so that what follows is aligned

	table         [1 << tableBits]uint16 // the last position entered for each hash; zero for none, as position 0 is checked like any other
	page          [margin + Size + margin]byte
	literalStream [Size + margin]byte
	tokenStream   [Size + margin]byte
	nearStream    [Size + margin]byte
	farStream     [Size + margin]byte // in the order in which they were found
}

// begin makes the search ready for a page.
func (s *search) begin(page []byte) {
	clear(s.table[:])
	copy(s.page[margin:], page)
	s.at, s.anchor, s.reps = 0, 0, firstReps
	s.literals, s.nears, s.fars, s.tokens = 0, 0, 0, 0
}

// emit writes the match that was found and the literals before it, and goes on behind it.
func (s *search) emit() {
	m := s.found
	s.reps = remember(s.reps, uint8(m.kind), m.distance)
	literals := s.emitRuns(m.at - s.anchor)
	length := min(m.length, planLength+minLength-1)
	p := plans[planAt(m.kind, literals, length)]
	s.emitFewLiterals(literals)
	s.emitPlan(p)
	switch m.kind {
	case near:
		s.emitNear(nearByte(m.distance))
	case far:
		word := m.distance | p.extra()<<12
		s.farStream[s.fars], s.farStream[s.fars+1] = byte(word), byte(word>>8)
		s.fars += 2
	}
	if m.length > length {
		s.emitMore(m.length - length)
	}
	s.at = m.at + m.length
	s.anchor = s.at
}

// emitPlan writes the tokens of a plan.
func (s *search) emitPlan(p plan) {
	if n := p.count(); n > 0 {
		binary.LittleEndian.PutUint32(s.tokenStream[s.tokens:], uint32(p))
		s.tokens += n
		return
	}
	list := rules.appendLiterals(s.tokenStream[s.tokens:s.tokens], int(p>>8&0xff))
	list = append(list, byte(p))
	s.tokens += len(rules.appendMatch(list, int(p>>16&0xff)))
}

// emitLiterals writes n literals with no match behind them.
func (s *search) emitLiterals(n int) {
	n = s.emitRuns(n)
	s.emitLiteralBytes(n)
	s.tokens += len(rules.appendLiterals(s.tokenStream[s.tokens:s.tokens], n))
}

// emitRuns writes as many of n literals as come in runs and returns how many are left, less than
// planLiterals.
func (s *search) emitRuns(n int) int {
	if n < runUnit {
		return n
	}
	runs := n / runUnit
	s.emitLiteralBytes(runs * runUnit)
	if runs == 1 {
		s.tokens += len(rules.appendLiterals(s.tokenStream[s.tokens:s.tokens], runUnit))
	} else {
		s.emitToken(literalRun)
		s.emitNear(byte(runs - 1))
	}
	return n % runUnit
}

// emitMore writes n bytes more of the last match.
func (s *search) emitMore(n int) {
	if n > maxLength {
		s.emitToken(matchRun)
		s.emitNear(byte(n/runUnit - 1))
		n %= runUnit
	}
	s.tokens += len(rules.appendMatch(s.tokenStream[s.tokens:s.tokens], n))
}

// emitLiteralBytes moves n bytes of the page to the stream.
func (s *search) emitLiteralBytes(n int) {
	copy(s.literalStream[s.literals:], s.page[margin+s.anchor:margin+s.anchor+n])
	s.literals += n
	s.anchor += n
}

// emitFewLiterals does the same for fewer than planLiterals bytes. One copy of a fixed length is
// quicker than one of the right length.
func (s *search) emitFewLiterals(n int) {
	*(*[planLiterals]byte)(s.literalStream[s.literals:]) = *(*[planLiterals]byte)(s.page[margin+s.anchor:])
	s.literals += n
	s.anchor += n
}

func (s *search) emitNear(b byte) {
	s.nearStream[s.nears] = b
	s.nears++
}

func (s *search) emitToken(t byte) {
	s.tokenStream[s.tokens] = t
	s.tokens++
}

// assemble puts the object together in dst and returns its length, or 0 if it does not fit.
func (s *search) assemble(dst []byte) int {
	n := headerSize + s.literals + s.nears + s.fars + s.tokens
	if n > min(len(dst), MaxObject) {
		return 0
	}
	counts := s.literals | s.tokens<<12
	dst[0], dst[1], dst[2] = byte(counts), byte(counts>>8), byte(counts>>16)
	at := headerSize
	at += copy(dst[at:], s.literalStream[:s.literals])
	at += copy(dst[at:], s.nearStream[:s.nears])
	for i := s.fars; i > 0; i -= 2 {
		at += copy(dst[at:], s.farStream[i-2:i])
	}
	copy(dst[at:], s.tokenStream[:s.tokens])
	return n
}
