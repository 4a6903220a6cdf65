// SPDX-License-Identifier: Apache-2.0

package driver

import "time"

// A Span is one thing that a simulated stream did, as a profiler shows it.
type Span struct {
	Call  string // that asked for it: cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemsetD8Async or cuLaunchKernel
	Bytes int    // that were copied or filled
	// Kernel ran in so many blocks of so many threads.
	Kernel          string
	Blocks, Threads int
	Begin, End      time.Time
}

// Overlaps reports whether two things were under way at the same time.
func (s Span) Overlaps(t Span) bool { return s.Begin.Before(t.End) && t.Begin.Before(s.End) }

// Trace has what streams do from now on noted until stop is called, which returns it in the order
// in which it ended. There is one trace at a time.
func (s *Simulator) Trace() (stop func() []Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracing, s.trace = true, nil
	return func() []Span {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tracing = false
		return s.trace
	}
}

// note adds what a stream has done to the trace, if there is one.
func (s *Simulator) note(did Span, begin time.Time) {
	end := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracing {
		did.Begin, did.End = begin, end
		s.trace = append(s.trace, did)
	}
}
