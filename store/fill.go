// SPDX-License-Identifier: Apache-2.0

package store

// fillSteps are the shares of the memory limit, in per cent, that Config.OnFill is told of.
var fillSteps = [...]int{100, 90, 80}

// fillSlack is how far the use has to fall below a step, in per cent, before it is told again.
const fillSlack = 5

// noteFill tells Config.OnFill of the highest step reached, unless it was told already. The caller
// holds passMu.
func (s *Store) noteFill() {
	limit := s.limit.Load()
	if limit == 0 || s.cfg.OnFill == nil {
		return
	}
	percent := min(int(uint64(s.used())*100/limit), 99)
	if s.full.Load() { // what is left below the limit may be too little for a segment
		percent = 100
	}
	if s.relimited.Swap(false) {
		s.filled = 0
	}
	if step := fillStep(percent); step > s.filled {
		s.filled = step
		s.cfg.OnFill(step)
	}
	s.filled = min(s.filled, fillStep(percent+fillSlack))
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
