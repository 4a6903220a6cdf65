// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// fillSteps are the shares of the memory limit, in per cent, that Config.OnFill is told of.
var fillSteps = [...]int{100, 90, 80}

const (
	// fillSlack is how far the use has to fall below a step, in per cent, before it is told again.
	fillSlack = 5
	// fullFor is how long after the last write that found no memory a store counts as full, where
	// the use has not fallen by that much: a full one has memory for moments, many times a second.
	fullFor = 10 * time.Second
)

// noteFill tells Config.OnFill of the highest step reached, unless it was told already. The caller
// holds passMu. again is when to look again, 0 for not before the next pass.
func (s *Store) noteFill() (again time.Duration) {
	if s.cfg.OnFill == nil {
		return 0
	}
	percent, taken := s.percent(), s.taken()
	relimited := s.limitChanged.Swap(false)
	if percent == 100 {
		s.fullAt, s.fullLast = taken, time.Now()
	} else if s.filled == 100 && !relimited && taken > s.fullAt-fillSlack {
		if left := fullFor - time.Since(s.fullLast); left > 0 {
			return min(left, settleEvery)
		}
	}
	switch step := fillStep(percent); {
	case step > s.filled || relimited && step > 0:
		s.filled = step
		s.cfg.OnFill(step, true)
	case step < s.filled:
		step = fillStep(percent + fillSlack)
		if s.filled == 100 { // and it is not full
			step = min(step, 90)
		}
		if step < s.filled {
			s.filled = step
			s.cfg.OnFill(step, false)
		}
	}
	return 0
}

// percent is the share of the memory limit in use, and 100 where no more memory can be had: what is
// left below the limit may be too little for a segment. It is 0 without a limit.
func (s *Store) percent() int {
	if s.limit.Load() != 0 && s.full.Load() {
		return 100
	}
	return s.taken()
}

// taken is the share of the memory limit in use, at most 99 per cent; 0 without a limit.
func (s *Store) taken() int {
	limit := s.limit.Load()
	if limit == 0 {
		return 0
	}
	return min(int(uint64(s.used())*100/limit), 99)
}

// fillStep is the highest step up to percent, 0 if there is none.
func fillStep(percent int) int {
	for _, step := range fillSteps {
		if percent >= step {
			return step
		}
	}
	return 0
}
