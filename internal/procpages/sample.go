// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"context"
	"errors"
	"math"
)

// A Sample holds copies of pages, spread evenly over all the pages of the processes that were
// added, one after the other: of N pages every N/n-th. So a process, and a part of it, has the same
// share of the sample as of the memory. Its own memory is allocated once, however large the
// processes are. It belongs to one goroutine.
type Sample struct {
	memory []byte  // for the copies
	taken  int     // copies in it
	seen   int64   // pages walked over
	step   float64 // pages from one copy to the next
	offset float64 // of the first, in steps, below 1
}

// NewSample makes a sample of at most limit pages, at least one. expected is the expected number of
// pages to choose from: if it is right, the sample has limit pages, or all if there are fewer; if
// there are more in the end, from half of limit to limit. offset, from 0 to below 1, is the start
// within the first step.
func NewSample(limit int, expected int64, offset float64) *Sample {
	limit = max(limit, 1)
	step := max(float64(expected)/float64(limit), 1)
	if step == 1 {
		offset = 0
	}
	return &Sample{memory: make([]byte, limit*PageSize), step: step, offset: offset}
}

// Pages returns the copies, one after the other. They are valid until the next Add.
func (s *Sample) Pages() []byte { return s.memory[:s.taken*PageSize] }

// Seen returns how many pages there were to choose from so far.
func (s *Sample) Seen() int64 { return s.seen }

// Add samples a process. If the process ends or ctx is done, the pages seen and copied so far stay,
// and the error wraps [ErrGone] or is the context's.
func (s *Sample) Add(ctx context.Context, pid int) (err error) {
	m, err := Open(pid)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return m.Walk(ctx, func(address int64) error { return s.visit(m, address) })
}

// visit copies the page if it is its turn.
func (s *Sample) visit(m *Memory, address int64) error {
	here := s.seen
	s.seen++
	if float64(here) < s.next() {
		return nil
	}
	if s.taken*PageSize == len(s.memory) {
		s.thin()
		if float64(here) < s.next() {
			return nil
		}
	}
	err := m.ReadPage(s.memory[s.taken*PageSize:], address)
	if errors.Is(err, ErrMoved) {
		s.seen-- // the next one takes its place
		return nil
	}
	if err == nil {
		s.taken++
	}
	return err
}

// next returns the number of the next page to copy. The addend makes up for rounding, so that a
// whole number stays one.
func (s *Sample) next() float64 {
	const rounding = 1e-12
	return math.Floor((float64(s.taken) + s.offset) * s.step * (1 + rounding))
}

// thin drops every second copy, which makes room and keeps the rest even.
func (s *Sample) thin() {
	kept := (s.taken + 1) / 2
	for i := 1; i < kept; i++ {
		copy(s.memory[i*PageSize:(i+1)*PageSize], s.memory[2*i*PageSize:])
	}
	s.taken = kept
	s.step *= 2
	s.offset /= 2
}
