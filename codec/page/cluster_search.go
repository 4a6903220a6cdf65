// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/binary"
	"math/bits"
)

const (
	// chainBits is the logarithm of the number of chains, and chainFactor is 2^32 divided by the
	// golden ratio.
	chainBits   = 14
	chainFactor = 0x9E3779B1
	// chainDepth is how many positions of a chain are looked at.
	chainDepth = 8
	// farthest is the largest distance that a far word can say.
	farthest = 1<<12 - 1
	// leastEntered is the length of the shortest match that the chains can find.
	leastEntered = 4
)

// A clusterSearch looks for matches in one page of a cluster after another, and in the pages before
// it. Other than a search for a single page it compares with many earlier positions and weighs all
// that it finds by what it is worth. Positions in the text are counted from its first page, those
// in matches from the page that they are in.
type clusterSearch struct {
	page    search // takes what is found; its table stays unused
	base    int    // where the page begins in the text
	entered int    // where the positions begin that are in no chain yet
	heads   [1 << chainBits]uint16
	chains  [ClusterPages * Size]uint16 // the position before each with the same hash, or as in heads the last one, plus one; zero for none
	text    [margin + ClusterPages*Size + margin]byte
}

// begin makes the search ready for a cluster.
func (c *clusterSearch) begin(pages [ClusterPages][]byte) {
	for i, page := range pages {
		copy(c.text[margin+i*Size:], page)
	}
	clear(c.heads[:])
	c.entered = 0
	c.page.reps = firstReps
}

// parse collects the streams of a page by its number. The pages before it must have had their
// turns.
func (c *clusterSearch) parse(number int, page []byte) {
	reps := c.page.reps
	c.page.begin(page)
	c.page.reps, c.base = reps, number*Size
	for at := 0; at < Size-1; {
		m, worth := c.best(at)
		if m.length == 0 {
			at++
			continue
		}
		if m.length < window {
			if later, more := c.best(at + 1); later.length > 0 && more > worth {
				m = later
			}
		}
		c.page.found = m
		c.page.emit()
		at = c.page.at
	}
	c.page.emitLiterals(Size - c.page.anchor)
}

// best returns the match that is worth most of those that begin at a position of the page, or up to
// eight bytes earlier, and what it is worth. Its length is zero if there is none.
func (c *clusterSearch) best(at int) (best match, worth int) {
	try := func(m match) {
		if w := c.page.worth(m); best.length == 0 || w > worth {
			best, worth = m, w
		}
	}
	for kind := range near {
		distance := c.page.rep(kind)
		if n := c.equal(at, distance); n >= 3 || n == 2 && kind <= rep1 {
			try(match{at: at, length: n, distance: distance, kind: kind})
		}
	}
	here := c.base + at
	from := c.enter(here)
	for range chainDepth {
		if from < 0 || here-from > farthest {
			break
		}
		if n := c.equal(at, here-from); n >= leastEntered {
			back := c.equalBefore(here, from)
			m := match{at: at - back, length: n + back, distance: here - from, kind: far}
			if isNear(m.distance) {
				m.kind = near
			}
			try(m)
		}
		from = int(c.chains[from]) - 1
	}
	return best, worth
}

// enter enters all positions of the text up to one into their chains and returns the last one
// before it with the same hash, or -1.
func (c *clusterSearch) enter(at int) int {
	for ; c.entered <= at; c.entered++ {
		head := &c.heads[uint32(c.eight(c.entered))*chainFactor>>(32-chainBits)]
		c.chains[c.entered] = *head
		*head = uint16(c.entered + 1)
	}
	return int(c.chains[at]) - 1
}

// eight returns the eight bytes at a position of the text, which may lie in the margins.
func (c *clusterSearch) eight(at int) uint64 { return binary.LittleEndian.Uint64(c.text[margin+at:]) }

// equal returns how many bytes of the page, from a position on, repeat those of the text at a
// distance.
func (c *clusterSearch) equal(at, distance int) int {
	here, most := c.base+at, Size-at
	if distance > here {
		return 0
	}
	for n := 0; n < most; n += 8 {
		if x := c.eight(here+n) ^ c.eight(here+n-distance); x != 0 {
			return min(n+bits.TrailingZeros64(x)/8, most)
		}
	}
	return most
}

// equalBefore returns how many bytes before two positions of the text are equal, up to eight and as
// far as they are in no stream yet.
func (c *clusterSearch) equalBefore(at, from int) int {
	return min(bits.LeadingZeros64(c.eight(at-8)^c.eight(from-8))/8, at-c.base-c.page.anchor, from)
}
