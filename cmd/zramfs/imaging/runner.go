// SPDX-License-Identifier: Apache-2.0

package imaging

import (
	"context"
	"errors"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

const pageSize = 4096 // bytes

const (
	// windowPages is how many pages are worked on at a time by the CPU alone: 16 MiB of them, enough
	// for all processors to have their part.
	windowPages = 4096
	// maxWindow is how many at the most, whatever engines there are: 1 GiB of them.
	maxWindow = 1 << 18
)

// CPUName is what the CPU is called as an engine.
const CPUName = "cpu"

// A runner does the bulk work of a command: it has a planner with all engines of the machine, memory
// for batches, and an account of the work. One goroutine at a time uses it; its memory and planner
// may be in use by others.
type runner struct {
	planner *bulk.Planner // immutable
	pages   int           // of a batch at the most, so that every engine has its pieces; immutable
	names   []string      // of the engines, the CPU first; immutable
	buffers [][]byte      // those that are mapped
	missing []string      // kinds of engine that there is none of, and why; immutable
	trouble []string      // errors that the work goes on after
	last    bulk.Report
	sum     bulk.Report
}

// newRunner makes one for objects of an algorithm, and so many pages at the most.
func newRunner(a codec.Algorithm, o Options, most uint64) (*runner, error) {
	if o.Pages == 0 {
		o.Pages = most
	}
	engines, missing, err := OpenEngines(a, o)
	if err != nil {
		return nil, err
	}
	s := &runner{pages: batchPages(engines, most), names: []string{CPUName}, missing: missing}
	for _, e := range engines {
		s.names = append(s.names, e.Name())
	}
	s.planner, err = NewPlanner(a, 0, engines, s.pages)
	return s, err
}

// batchPages is enough for the CPU and for each lane of each engine, and no more than there is.
func batchPages(engines []bulk.Engine, most uint64) int {
	n := uint64(windowPages)
	for _, e := range engines {
		l := e.Limits()
		n += uint64(l.Lanes) * uint64(l.Max)
	}
	return int(min(n, maxWindow, max(most, 1)))
}

// buffer makes memory for batches, which is there until close; write says that pages are to be
// brought there. Where there are engines it is mapped, and they are told of it: one that cannot
// have it goes on without.
func (s *runner) buffer(n int, write bool) []byte {
	if len(s.names) == 1 {
		return make([]byte, n)
	}
	b, err := MapBuffer(n)
	if err != nil {
		s.note(err)
		return make([]byte, n)
	}
	s.buffers = append(s.buffers, b)
	if err := s.planner.Register(b, write); err != nil {
		s.note(err)
	}
	return b[:n]
}

// run does a batch. It does again what an engine has torn, in other memory, which b has then: the
// old may still be written to by the device.
func (s *runner) run(ctx context.Context, b *bulk.Batch) error {
	err := s.planner.Run(ctx, b, &s.last)
	if errors.Is(err, bulk.ErrTorn) && b.Op == bulk.Decompress {
		s.account(false)
		s.abandon(b.Pages)
		b.Pages = make([]byte, len(b.Pages)) // no engine knows it, so it cannot be torn
		err = s.planner.Run(ctx, b, &s.last)
	}
	s.account(err == nil)
	return err
}

// account adds up what was done of the last batch: of one that was for nothing the failures alone.
func (s *runner) account(done bool) {
	if !done {
		s.last = bulk.Report{Op: s.last.Op, Engines: s.last.Engines}
		for i := range s.last.Engines {
			e := &s.last.Engines[i]
			*e = bulk.EngineReport{Name: e.Name, Failures: e.Failures, Err: e.Err, Dead: e.Dead}
		}
	}
	s.sum.Add(&s.last)
}

// leave forgets the buffer that p is the beginning of: it stays as it is to the end of the program.
func (s *runner) abandon(p []byte) {
	for i, b := range s.buffers {
		if len(p) > 0 && &b[0] == &p[0] {
			s.buffers = append(s.buffers[:i], s.buffers[i+1:]...)
			return
		}
	}
}

// close ends the work. That an engine does not end well is noted, and no more: what it did was
// proved.
func (s *runner) close() {
	for _, b := range s.buffers {
		if err := errors.Join(s.planner.Unregister(b), UnmapBuffer(b)); err != nil {
			s.note(err)
		}
	}
	s.buffers = nil
	if err := s.planner.Close(); err != nil {
		s.note(err)
	}
}

// note keeps an error that the work goes on after.
func (s *runner) note(err error) { s.trouble = append(s.trouble, term.OneLine(err.Error())) }
