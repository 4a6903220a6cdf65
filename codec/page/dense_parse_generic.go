// SPDX-License-Identifier: Apache-2.0

package page

// The weights of the dense level's parse, in tenths of a bit: the worth of a byte of a match, and
// the costs of a literal and of each distance.
const (
	byteWorth   = 20
	literalCost = 73
	nearCost    = 60
	farCost     = 148
	rankCost    = 8 // for each remembered distance before it
)

// lastDense is behind the last position at which a match may begin, so that the four bytes that are
// looked up end in the page.
const lastDense = Size - 3

// parseDenseGeneric leaves every match to the caller. Other than parseGeneric it looks every
// position up that no match at a remembered distance begins at, and enters the position before last
// in every match, and gives a match that the table gave up for one that begins a byte later at a
// remembered distance, if that is worth more.
func parseDenseGeneric(s *search) bool {
	if s.at >= 2 && s.at < lastDense {
		s.lookUp(s.at - 2)
	}
	for s.at < lastDense {
		last := min(s.at+reach, lastDense)
		if s.parseDenseStart(min(last, firstReach)) || s.parseDenseWindow(last) {
			return true
		}
		s.at = last
	}
	return false
}

// parseDenseStart looks for a match from s.at on, up to last, where distances may reach before the
// page.
func (s *search) parseDenseStart(last int) bool {
	for at := s.at; at < last; at++ {
		if s.remembered(at) {
			s.found = s.longestRemembered(at)
			return true
		}
		if at > 0 && s.lookUpDense(at) {
			return true
		}
	}
	return false
}

// parseDenseWindow looks for a match from s.at or firstReach on, up to last.
func (s *search) parseDenseWindow(last int) bool {
	for at := max(s.at, firstReach); at < last; at += step {
		first := min(s.firstRemembered(at), last-at)
		for p := at; p < at+min(first, step); p++ {
			if s.lookUpDense(p) {
				return true
			}
		}
		if first < min(step, last-at) {
			s.found = s.longestRemembered(at + first)
			return true
		}
	}
	return false
}

// lookUpDense enters a position into the table. If the one that was there begins with the same word
// it puts the better match into s.found.
func (s *search) lookUpDense(at int) bool {
	from := s.lookUp(at)
	if s.word(from) != s.word(at) {
		return false
	}
	s.found = s.orLater(s.entered(at, from), at)
	return true
}

// orLater returns a match that the table gave at a position, or the longest one at a remembered
// distance at the next position if that is worth more, as far as the window from s.at shows.
func (s *search) orLater(m match, at int) match {
	if m.at+m.length-at >= window {
		return m
	}
	seen := s.at + window - (at + 1)
	later := s.ranked(at+1, s.longerRemembered(at+1, seen))
	if later.length < minLength || s.worth(later) <= s.worth(m) {
		return m
	}
	if later.length == seen {
		later.length = s.equal(later.at, later.distance, Size)
	}
	return later
}

// worth weighs the bytes from the anchor to a match's end.
func (s *search) worth(m match) int {
	cost := rankCost * m.kind
	switch m.kind {
	case near:
		cost = nearCost
	case far:
		cost = farCost
	}
	return byteWorth*(m.at+m.length-s.anchor) - literalCost*(m.at-s.anchor) - cost
}
