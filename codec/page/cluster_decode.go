// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

// clusterMargin is how many bytes lie before a cluster's text, all zeros, and behind it. That
// is more than the first literals can refer to before it, and than is written behind it.
const clusterMargin = 128

// A clusterText is the room for the text of a cluster's pages. The bytes before it must stay
// zeros.
type clusterText [clusterMargin + ClusterPages*Size + clusterMargin]byte

// clusterDecodeFunc decodes n bytes of a cluster's text from its streams, with literals that
// are differences or not, and reports whether they stand for that. It may read up to 16 bytes
// behind the literals and two before the distances, and write as far as the margins behind the
// text.
type clusterDecodeFunc func(text *clusterText, n int, s streams, differences bool) bool

// A clusterDecoding is a cluster's text on its way out.
type clusterDecoding struct {
	streams        // what is left of each
	text    []byte // with the margins
	at, end int    // in the text
	reps    uint64
	mask    uint64 // of what is added to literals
}

func decodeClusterGeneric(text *clusterText, n int, s streams, differences bool) bool {
	d := clusterDecoding{streams: s, text: text[:], at: clusterMargin, end: clusterMargin + n, reps: firstReps}
	if differences {
		d.mask = ^uint64(0)
	}
	for i, number := range s.tokens {
		if number >= literalRun {
			if !d.run(number) {
				return false
			}
			continue
		}
		t := clusterTokens[s.tokens[i]]
		distance, ok := d.distance(t.kind)
		if !ok || int(t.literals) > len(d.literals) {
			return false
		}
		d.add()
		d.literals = d.literals[t.literals:]
		d.at += int(t.literals)
		d.reps = remember(d.reps, t.kind, distance)
		if uint(distance-1) >= uint(d.at-clusterMargin) {
			return false
		}
		repeat(d.text, d.at, distance, int(t.length))
		if d.at += int(t.length); d.at > d.end {
			return false
		}
	}
	return d.at == d.end && len(d.literals) == 0 && len(d.distances) == 0
}

// distance returns the distance of the next token.
func (d *clusterDecoding) distance(kind uint8) (int, bool) {
	switch {
	case kind < near:
		return int(d.reps >> (16 * kind) & 0xffff), true
	case kind == near && len(d.distances) > 0:
		distance := int(nearDistances[d.distances[0]])
		d.distances = d.distances[1:]
		return distance, true
	case kind == far && len(d.distances) > 1:
		last := len(d.distances) - 2
		distance := int(binary.LittleEndian.Uint16(d.distances[last:]))
		d.distances = d.distances[:last]
		return distance, true
	}
	return 0, false
}

// add writes the next 16 literals. Those that are not there come to lie where others follow.
func (d *clusterDecoding) add() {
	literals := d.literals[:maxLiterals]
	to := d.text[d.at : d.at+maxLiterals]
	from := d.text[d.at-referenceOf(int(d.reps&0xffff)):][:maxLiterals]
	x, y := binary.LittleEndian.Uint64(literals), binary.LittleEndian.Uint64(literals[8:])
	binary.LittleEndian.PutUint64(to, addBytes(x, binary.LittleEndian.Uint64(from)&d.mask))
	binary.LittleEndian.PutUint64(to[8:], addBytes(y, binary.LittleEndian.Uint64(from[8:])&d.mask))
}

// addBytes adds the bytes of two words, each for itself.
func addBytes(x, y uint64) uint64 {
	const high = 0x8080808080808080
	return (x&^high + y&^high) ^ (x^y)&high
}

// run does what a run's token repeats.
func (d *clusterDecoding) run(number byte) bool {
	if len(d.distances) == 0 {
		return false
	}
	n := runUnit * (int(d.distances[0]) + 1)
	d.distances = d.distances[1:]
	if n > d.end-d.at {
		return false
	}
	if number == literalRun {
		if n > len(d.literals) {
			return false
		}
		for range n / runUnit {
			d.add()
			d.literals = d.literals[runUnit:]
			d.at += runUnit
		}
		return true
	}
	distance := int(d.reps & 0xffff)
	if uint(distance-1) >= uint(d.at-clusterMargin) {
		return false
	}
	for to, from, end := d.at, d.at-distance, d.at+n; to < end; {
		to += copy(d.text[to:end], d.text[from:to])
	}
	d.at += n
	return true
}
