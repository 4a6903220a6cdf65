// SPDX-License-Identifier: Apache-2.0

package store

// fillSteps are the shares of the memory limit, in per cent, that Config.OnFill is told of.
var fillSteps = [...]int{100, 90, 80}

// fillSlack is how far the use has to fall below a step, in per cent, before it is told again.
const fillSlack = 5

// noteFill tells Config.OnFill of the highest step reached, unless it was told already. The caller
// holds passMu.
func (s *Store) noteFill() {
	if s.cfg.OnFill == nil {
		return
	}
	percent := s.percent()
	again := s.relimited.Swap(false)
	switch step := fillStep(percent); {
	case step > s.filled || again && step > 0:
		s.filled = step
		s.cfg.OnFill(step, true)
	case step < s.filled:
		if step = min(s.filled, fillStep(percent+fillSlack)); step < s.filled {
			s.filled = step
			s.cfg.OnFill(step, false)
		}
	}
}

// percent is the share of the memory limit in use, 0 without a limit.
func (s *Store) percent() int {
	limit := s.limit.Load()
	switch {
	case limit == 0:
		return 0
	case s.full.Load(): // what is left below the limit may be too little for a segment
		return 100
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
