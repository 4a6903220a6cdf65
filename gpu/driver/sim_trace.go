// SPDX-License-Identifier: Apache-2.0

package driver

import "time"

// A Span is one piece of work of a simulated stream, as a profiler shows it.
type Span struct {
	Call  string // its call: cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemsetD8Async or cuLaunchKernel
	Bytes int    // copied or filled
	// Kernel is the name of a kernel, which ran in Blocks blocks of Threads threads.
	Kernel          string
	Blocks, Threads int
	Begin, End      time.Time
}

// Overlaps reports whether two spans overlap in time.
func (s Span) Overlaps(t Span) bool { return s.Begin.Before(t.End) && t.Begin.Before(s.End) }

// Trace records the work of streams until stop is called, which returns it in the order in which it
// ended. There is one trace at a time.
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

// note adds work to the trace, if there is one.
func (s *Simulator) note(did Span, begin time.Time) {
	end := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracing {
		did.Begin, did.End = begin, end
		s.trace = append(s.trace, did)
	}
}
