// SPDX-License-Identifier: Apache-2.0

package page

// A clusterPage says where a page's symbols end in the streams of its cluster.
type clusterPage struct {
	tokens, literals, nears, fars int
}

// clusterStreams holds the symbols of a cluster.
type clusterStreams struct {
	pages    [ClusterPages]clusterPage
	end      clusterPage // of what is there so far
	tokens   [ClusterPages * Size]byte
	literals [ClusterPages * Size]byte
	nears    [ClusterPages * Size / leastNear]byte
	farLow   [ClusterPages * Size / leastFar]byte
	farHigh  [ClusterPages * Size / leastFar]byte
	plain    [256]uint32  // how often each byte is a literal
	way      [Size]uint16 // where the tokens of a page end, the last first
}

// begin forgets what is there.
func (c *clusterStreams) begin() {
	c.end = clusterPage{}
	clear(c.plain[:])
}

// emit adds the tokens that a parser has found for a page, with literals as differences or
// not.
func (c *clusterStreams) emit(p *clusterParser, page int, differences bool) {
	n := 0
	for at := Size; at > 0; at = int(p.steps[at].from) {
		c.way[n] = uint16(at)
		n++
	}
	reps := p.steps[0].reps
	units := 0 // of whole tokens of literals that are in no stream yet
	for ; n > 0; n-- {
		s := &p.steps[c.way[n-1]]
		t := clusterTokens[s.token]
		literals := int(t.literals)
		c.emitLiterals(p, int(s.from), literals, int(reps&0xffff), differences)
		reps = remember(reps, s.kind, int(s.distance))
		if literals == maxLiterals && t.length == 0 {
			units++
			continue
		}
		c.emitUnits(units)
		units = 0
		c.emitToken(s)
	}
	c.emitUnits(units)
	c.pages[page] = c.end
}

// emitLiterals adds literals that begin at a position of the page, where distance is the last
// one.
func (c *clusterStreams) emitLiterals(p *clusterParser, from, n, distance int, differences bool) {
	at := margin + p.base + from
	text, before := p.text[at:at+n], p.text[at-referenceOf(distance):]
	for i, b := range text {
		c.plain[b]++
		if differences {
			b -= before[i]
		}
		c.literals[c.end.literals] = b
		c.end.literals++
	}
}

// emitUnits adds the tokens of some times maxLiterals literals, as a run where that is
// shorter.
func (c *clusterStreams) emitUnits(units int) {
	if units > 2 {
		c.add(literalRun)
		c.addNear(byte(units - 1))
		return
	}
	for range units {
		c.add(literalTokens[maxLiterals])
	}
}

// emitToken adds a token and its distance.
func (c *clusterStreams) emitToken(s *clusterStep) {
	c.add(s.token)
	switch {
	case s.token == matchRun:
		c.addNear(s.near)
	case s.kind == near:
		c.addNear(nearByte(int(s.distance)))
	case s.kind == far:
		c.farLow[c.end.fars], c.farHigh[c.end.fars] = byte(s.distance), byte(s.distance>>8)
		c.end.fars++
	}
}

func (c *clusterStreams) add(token byte) {
	c.tokens[c.end.tokens] = token
	c.end.tokens++
}

func (c *clusterStreams) addNear(b byte) {
	c.nears[c.end.nears] = b
	c.end.nears++
}

// count counts all symbols.
func (c *clusterStreams) count(h *histogram) {
	*h = histogram{}
	for i := range h {
		for _, b := range c.all(i, clusterPage{}, c.end) {
			h[i][b]++
		}
	}
}

// all returns the symbols of a segment between two places.
func (c *clusterStreams) all(segment int, from, to clusterPage) []byte {
	switch segment {
	case tokenSegment:
		return c.tokens[from.tokens:to.tokens]
	case literalSegment:
		return c.literals[from.literals:to.literals]
	case nearSegment:
		return c.nears[from.nears:to.nears]
	case farLowSegment:
		return c.farLow[from.fars:to.fars]
	default:
		return c.farHigh[from.fars:to.fars]
	}
}
