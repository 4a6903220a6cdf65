// SPDX-License-Identifier: Apache-2.0

package page

// leastFavourite is how often a token must be there to be a favourite.
const leastFavourite = 3

// costs holds, by segment and byte, the lengths of the byte's codes in all of the segment's codes,
// 16 bits each, the first in the lowest: their sums over a page have room there. It is immutable
// once made.
var costs = makeCosts()

func makeCosts() (costs [segments][256]uint64) {
	for segment := range costs {
		for i := range 1 << choiceBits[segment] {
			for b := range 256 {
				costs[segment][b] |= uint64(codes[segment][i].length(b)) << (16 * i)
			}
		}
	}
	return costs
}

// A chooser finds the best codes for a page's segments.
type chooser struct {
	ranking
	coding [256]uint16 // the last answer of codesOf
}

// choose returns the code in which a segment takes fewest bits, favourites among them, and how
// many.
func (c *chooser) choose(segment int, content []byte) (choice, cost int) {
	costs := &costs[segment]
	var sums uint64
	for _, b := range content {
		sums += costs[b]
	}
	if segment == tokenSegment {
		c.rank(content)
	}
	cost = 1 << 30
	for i, code := range codes[segment][:1<<choiceBits[segment]] {
		sum := int(sums >> (16 * i) & 0xffff)
		if code.favourites > 0 {
			sum += 8*code.favourites - c.saved(code)
		}
		if sum < cost {
			choice, cost = i, sum
		}
	}
	return choice, cost
}

// saved returns how many bits the favourites' own codes save of the tokens'.
func (c *chooser) saved(code *code) (bits int) {
	for i, b := range c.favourites[:min(c.found, code.favourites)] {
		bits += int(c.counts[b]) * (code.length(int(b)) - code.length(256+i))
	}
	return bits
}

// codesOf returns the bits of each byte in a segment's code, in which favourites have their own.
func (c *chooser) codesOf(code *code) *[256]uint16 {
	if code.favourites == 0 {
		return (*[256]uint16)(code.encode[:])
	}
	copy(c.coding[:], code.encode[:])
	for i, b := range c.favourites[:min(c.found, code.favourites)] {
		c.coding[b] = code.encode[256+i]
	}
	return &c.coding
}

// mostTimes is what counts as often as anything more.
const mostTimes = 63

// A ranking lists a page's most frequent tokens, the most frequent first.
type ranking struct {
	favourites [maxFavourites]byte // zeros behind those that there are
	found      int
	counts     [256]uint16         // how often each token is there
	often      [256 + 1]byte       // the tokens that are there at least leastFavourite times, and another one
	places     [mostTimes + 2]byte // by mostTimes less a number of times: where the next token that is there so often goes
	sorted     [256]byte
}

// rank makes the ranking of tokens. Of equals those come first that were there for the third time
// first.
func (r *ranking) rank(tokens []byte) {
	clear(r.counts[:])
	n := 0
	for _, b := range tokens {
		x := r.counts[b] + 1
		r.counts[b] = x
		// Every token is written and those stay that come for the third time: that asks nothing of
		// the branch predictor.
		r.often[n] = b
		if x == leastFavourite {
			n++
		}
	}
	clear(r.places[:])
	for _, b := range r.often[:n] {
		r.places[mostTimes-min(r.counts[b], mostTimes)+1]++
	}
	place := byte(0)
	for i := range r.places {
		place += r.places[i]
		r.places[i] = place
	}
	for _, b := range r.often[:n] {
		times := mostTimes - min(r.counts[b], mostTimes)
		r.sorted[r.places[times]] = b
		r.places[times]++
	}
	r.found = min(n, maxFavourites)
	r.favourites = [maxFavourites]byte{}
	copy(r.favourites[:], r.sorted[:r.found])
}
