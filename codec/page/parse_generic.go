// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/binary"
	"math/bits"
)

// parseFunc looks for matches from s.at on and writes them and the literals before them to the
// streams. It returns true with the next match in s.found where it leaves that to the caller: the
// caller calls emit and then parseFunc again. It returns false at the end of the page, where the
// literals from s.anchor on are left. The object is the same whichever matches it writes itself.
type parseFunc func(s *search) bool

// parseGeneric leaves every match to the caller.
func parseGeneric(s *search) bool {
	for s.at < lastStart {
		last := min(s.at+reach, lastStart)
		if s.at < firstReach && s.parseStart(min(last, firstReach)) || s.parseWindow(last) {
			return true
		}
		s.at = last
	}
	return false
}

// firstReach is the first position before which there is room for every distance remembered there:
// those of firstReps, and any that an earlier match had.
const firstReach = 16

// parseStart looks for a match from s.at on, up to last, where distances may reach before the page.
func (s *search) parseStart(last int) bool {
	for at := s.at; at < last; at++ {
		if s.remembered(at) {
			s.found = s.longestRemembered(at)
			return true
		}
		if at%tableStep == 0 && at > 0 && s.enter(at) {
			return true
		}
	}
	return false
}

// step is how many positions parseWindow sees at once: eight bytes show the three of a match at
// each of them.
const step = 6

// parseWindow looks for a match from s.at or firstReach on, up to last.
func (s *search) parseWindow(last int) bool {
	for at := max(s.at, firstReach); at < last; at += step {
		end := min(step, last-at)
		first := min(s.firstRemembered(at), end)
		for p := -at & (tableStep - 1); p < first; p += tableStep {
			if s.enter(at + p) {
				return true
			}
		}
		if first < end {
			s.found = s.longestRemembered(at + first)
			return true
		}
	}
	return false
}

// firstRemembered returns how far behind a position the first match at a remembered distance
// begins, if that is less than step.
func (s *search) firstRemembered(at int) int {
	x := s.eight(at)
	repeats := zeroBytes(x ^ s.eight(at-int(s.reps&0xffff)))
	hits := repeats & (repeats >> 8)
	repeats = zeroBytes(x ^ s.eight(at-int(s.reps>>16&0xffff)))
	hits |= repeats & (repeats >> 8)
	repeats = zeroBytes(x ^ s.eight(at-int(s.reps>>32&0xffff)))
	hits |= repeats & (repeats >> 8) & (repeats >> 16)
	repeats = zeroBytes(x ^ s.eight(at-int(s.reps>>48)))
	hits |= repeats & (repeats >> 8) & (repeats >> 16)
	return bits.TrailingZeros64(hits) / 8
}

// zeroBytes returns the highest bit of each byte of x that is zero.
func zeroBytes(x uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ^(x&low + low | x | low)
}

// eight returns the eight bytes at a position, which may lie in the margins.
func (s *search) eight(at int) uint64 {
	i := uint(margin + at)
	if i > uint(len(s.page)-8) {
		return 0 // never; so that one comparison is all that the compiler needs
	}
	return binary.LittleEndian.Uint64(s.page[i : i+8])
}

// word returns the four bytes at a position.
func (s *search) word(at int) uint32 { return binary.LittleEndian.Uint32(s.page[margin+at:]) }

// enter enters a position into the table. It reports whether the one that was there begins with the
// same word, and puts the match with it into s.found.
func (s *search) enter(at int) bool {
	from := s.lookUp(at)
	if s.word(from) != s.word(at) {
		return false
	}
	s.found = s.entered(at, from)
	return true
}

// lookUp enters a position into the table and returns the one that was there.
func (s *search) lookUp(at int) int {
	slot := &s.table[s.eight(at)*hashFactor>>hashShift]
	from := int(*slot)
	*slot = uint16(at)
	return from
}

// rep returns a remembered distance.
func (s *search) rep(kind int) int { return int(s.reps >> (16 * kind) & 0xffff) }

// remembered reports whether a match at a remembered distance begins at a position: of two bytes at
// the last two distances, of three at the others.
func (s *search) remembered(at int) bool {
	for kind := range near {
		if n := s.equal(at, s.rep(kind), 3); n == 3 || n == 2 && kind <= rep1 {
			return true
		}
	}
	return false
}

// equal returns how many bytes, up to most, repeat those at a distance.
func (s *search) equal(at, distance, most int) int {
	if distance > at {
		return 0
	}
	most = min(most, Size-at)
	for n := 0; n < most; n += 8 {
		if x := s.eight(at+n) ^ s.eight(at+n-distance); x != 0 {
			return min(n+bits.TrailingZeros64(x)/8, most)
		}
	}
	return most
}

// longestRemembered returns the longest of the matches at remembered distances as far as the window
// from s.at shows them, the most recent distance's of equals, and then all of that one.
func (s *search) longestRemembered(at int) match {
	seen := min(s.at+window, Size) - at
	best := firstSeen * near
	if at >= firstReach {
		best = s.firstBytes(at, seen)
	}
	if best >= firstSeen*near {
		best = s.longerRemembered(at, seen)
	}
	m := s.ranked(at, best)
	if m.length == s.at+window-at {
		m.length = s.equal(at, m.distance, Size)
	}
	return m
}

// ranked returns the match at a position that a number of longerRemembered stands for.
func (s *search) ranked(at, best int) match {
	kind := near - 1 - best%near
	return match{at: at, length: best / near, distance: s.rep(kind), kind: kind}
}

// firstSeen is how many bytes firstBytes looks at.
const firstSeen = 16

// firstBytes does what longerRemembered does, for the first 16 bytes and without a branch that
// could be guessed wrong. The position must not be less than firstReach.
func (s *search) firstBytes(at, seen int) int {
	x, y, reps := s.eight(at), s.eight(at+8), s.reps
	a := s.repeated(x, y, at-int(reps&0xffff))
	b := s.repeated(x, y, at-int(reps>>16&0xffff))
	c := s.repeated(x, y, at-int(reps>>32&0xffff))
	d := s.repeated(x, y, at-int(reps>>48))
	return max(min(a, seen)*near+3, min(b, seen)*near+2, min(c, seen)*near+1, min(d, seen)*near)
}

// repeated returns how many of sixteen bytes, in two words, are those at a position.
func (s *search) repeated(x, y uint64, from int) int {
	n := 8 + bits.TrailingZeros64(y^s.eight(from+8))/8
	if z := bits.TrailingZeros64(x^s.eight(from)) / 8; z < 8 {
		n = z
	}
	return n
}

// longerRemembered returns the most bytes that repeat those at a remembered distance, times near,
// plus how many ranks there are behind that distance's.
func (s *search) longerRemembered(at, seen int) (best int) {
	for kind := range near {
		best = max(best, s.equal(at, s.rep(kind), seen)*near+near-1-kind)
	}
	return best
}

// entered returns the match with an earlier position that the table gave, also as far as it goes
// back: up to eight bytes.
func (s *search) entered(at, from int) match {
	back := min(bits.LeadingZeros64(s.eight(at-8)^s.eight(from-8))/8, at-s.anchor, from)
	m := match{at: at - back, length: s.equal(at, at-from, Size) + back, distance: at - from, kind: far}
	if isNear(m.distance) {
		m.kind = near
	}
	return m
}
