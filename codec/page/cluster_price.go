// SPDX-License-Identifier: Apache-2.0

package page

import "math/bits"

const (
	// priceBit is the price of a bit.
	priceBit = 16
	// priceOfAbsent is the price of a symbol that an own code does not have so far.
	priceOfAbsent = 12 * priceBit
)

// A histogram counts the symbols of each segment.
type histogram [segments][256]uint32

// prices holds what each symbol of each segment costs.
type prices [segments][256]uint16

// static sets the prices of a segment to those of one of the codes that are part of the
// format.
func (p *prices) static(segment, choice int) {
	for b, e := range clusterCodes()[segment][choice].encode[:256] {
		p[segment][b] = e & lengthMask * priceBit
	}
}

// own sets the prices of a segment to those of the best code for what is there so often.
func (p *prices) own(segment int, counts *[256]uint32, total uint32) {
	whole := logarithm(total)
	for b, count := range counts {
		p[segment][b] = priceOfAbsent
		if count > 0 {
			p[segment][b] = uint16(max(whole-logarithm(count), priceBit))
		}
	}
}

// logarithm returns priceBit times the binary logarithm of a positive number below 2^16.
func logarithm(x uint32) int {
	n := bits.Len32(x) - 1
	m := uint64(x) << (31 - n) // 2^31 to 2^32 - 1
	fraction := 0
	for bit := priceBit / 2; bit > 0; bit /= 2 {
		m = m * m >> 31
		if m >= 1<<32 {
			m >>= 1
			fraction |= bit
		}
	}
	return n*priceBit + fraction
}

// A selection is the codes that the segments of a cluster are best written in.
type selection struct {
	choices [segments]int
	owns    [segments]own
	costs   [segments]int // in bits, with the lengths of an own code
	lists   [segments][256]byte
	lengths [segments]int // how many of a list are there
	maker   ownMaker
}

// sum returns how often all symbols are there.
func sum(counts *[256]uint32) (total uint32) {
	for _, count := range counts {
		total += count
	}
	return total
}

// choose chooses the code of a segment.
func (s *selection) choose(segment int, counts *[256]uint32) {
	best, choice := 0, 0
	for i, code := range clusterCodes()[segment] {
		cost := 0
		for b, count := range counts {
			cost += int(count) * code.length(b)
		}
		if i == 0 || cost < best {
			best, choice = cost, i
		}
	}
	s.choices[segment], s.costs[segment], s.lengths[segment] = choice, best, 0
	if best <= leastOwn {
		return
	}
	lengths := &s.owns[segment]
	s.maker.make(lengths, counts)
	list := lengths.appendSymbols(s.lists[segment][:0])
	cost := 8
	for b, count := range counts {
		cost += int(count) * int(lengths[b])
	}
	for _, symbol := range list {
		cost += lengthsCode.length(int(symbol))
	}
	if cost < best {
		s.choices[segment], s.costs[segment], s.lengths[segment] = ownChoice, cost, len(list)
	}
}

// leastOwn is how many bits a segment takes at least where an own code could pay.
const leastOwn = 200

// codesOf returns the bits of each byte in the code that was chosen for a segment, in room if
// that is an own code.
func (s *selection) codesOf(segment int, room *[256]uint16) *[256]uint16 {
	if s.choices[segment] != ownChoice {
		return (*[256]uint16)(clusterCodes()[segment][s.choices[segment]].encode[:])
	}
	s.owns[segment].encode(room)
	return room
}
