// SPDX-License-Identifier: Apache-2.0

package page

// decodeFunc fills dst, of Size bytes or as many as some pages of a cluster have, from an object's
// streams and reports whether they stand for that.
type decodeFunc func(dst []byte, s streams) bool

// A decoding is a page on its way out.
type decoding struct {
	streams        // what is left of each
	dst     []byte // the page
	at      int    // how much of it is there
	reps    uint64 // the remembered distances, as in firstReps
}

func decodeGeneric(dst []byte, s streams) bool {
	d := decoding{streams: s, dst: dst, reps: firstReps}
	return d.rest()
}

// rest decodes all that is left and reports whether that made the page and left nothing.
func (d *decoding) rest() bool {
	for d.plain(); len(d.tokens) > 0; d.plain() {
		if !d.next() {
			return false
		}
	}
	return d.at == len(d.dst) && len(d.literals) == 0 && len(d.distances) == 0
}

// next does one token.
func (d *decoding) next() bool {
	number := d.tokens[0]
	d.tokens = d.tokens[1:]
	t := tokens[number]
	if number >= literalRun {
		return d.run(t)
	}
	distance, more, ok := d.distance(t.kind)
	return ok && d.copyLiterals(int(t.literals)) && d.copyMatch(distance, int(t.length)+more)
}

// distance returns the distance of the next match and what it adds to the length, and remembers it.
func (d *decoding) distance(kind uint8) (distance, more int, ok bool) {
	switch kind {
	case near:
		if len(d.distances) < 1 {
			return 0, 0, false
		}
		distance = int(nearDistances[d.distances[0]])
		d.distances = d.distances[1:]
	case far:
		last := len(d.distances) - 2
		if last < 0 {
			return 0, 0, false
		}
		word := int(d.distances[last]) | int(d.distances[last+1])<<8
		d.distances = d.distances[:last]
		distance, more = word&0xfff, word>>12
	default:
		distance = int(d.reps >> (16 * kind) & 0xffff)
	}
	d.reps = remember(d.reps, kind, distance)
	return distance, more, true
}

// remember returns the remembered distances after a match of some kind at distance: that becomes
// the first, and those that were before it move back by one place, into that which it left or out
// of the last.
func remember(reps uint64, kind uint8, distance int) uint64 {
	masks := &rememberMasks[kind&7]
	return uint64(distance) | reps&masks.before<<16 | reps&masks.behind
}

// run does what a run's token repeats.
func (d *decoding) run(t token) bool {
	if len(d.distances) == 0 {
		return false
	}
	times := int(d.distances[0]) + 1
	d.distances = d.distances[1:]
	return d.copyLiterals(times*int(t.literals)) && d.copyMatch(int(d.reps&0xffff), times*int(t.length))
}

// copyLiterals copies n literals to the page.
func (d *decoding) copyLiterals(n int) bool {
	if n > len(d.literals) || n > len(d.dst)-d.at {
		return false
	}
	// One copy of a fixed length is quicker than one of the right length.
	if n <= maxLiterals && len(d.literals) >= maxLiterals && d.at <= len(d.dst)-maxLiterals {
		copy(d.dst[d.at:d.at+maxLiterals], d.literals[:maxLiterals])
	} else {
		copy(d.dst[d.at:], d.literals[:n])
	}
	d.at += n
	d.literals = d.literals[n:]
	return true
}

// copyMatch repeats n bytes of the page at a distance, which may be less than n. Without any byte
// the distance does not matter.
func (d *decoding) copyMatch(distance, n int) bool {
	if n == 0 {
		return true
	}
	// A distance of zero is refused here as well.
	if n > len(d.dst)-d.at || uint(distance-1) >= uint(d.at) {
		return false
	}
	from, to, end := d.at-distance, d.at, d.at+n
	d.at = end
	// Each copy doubles what repeats, so that a run takes few of them at any distance.
	for to < end {
		to += copy(d.dst[to:end], d.dst[from:to])
	}
	return true
}
