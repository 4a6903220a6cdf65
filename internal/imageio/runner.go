// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"errors"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/term"
)

const pageSize = 4096 // bytes

const (
	// windowPages is the pages of a window for the CPU alone: 16 MiB, enough for every processor.
	windowPages = 4096
	// maxWindow is the most pages of a window with any engines: 1 GiB.
	maxWindow = 1 << 18
)

// CPUName is the name of the CPU as an engine.
const CPUName = "cpu"

// A runner does the bulk work of a command. It holds a planner with all engines of the machine,
// memory for batches, and the sums for the report. One goroutine at a time uses it; others may use
// its memory and planner at the same time.
type runner struct {
	planner *bulk.Planner // immutable
	pages   int           // the most of a batch, enough pieces for every engine; immutable
	names   []string      // of the engines, the CPU first; immutable
	buffers [][]byte      // the mapped ones
	missing []string      // kinds without an engine, and why; immutable
	trouble []string      // errors that did not stop the work
	last    bulk.Report
	sum     bulk.Report
}

// newRunner returns a runner for objects of an algorithm, in batches of at most most pages.
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

// batchPages returns pages enough for the CPU and each lane of each engine, at most most.
func batchPages(engines []bulk.Engine, most uint64) int {
	n := uint64(windowPages)
	for _, e := range engines {
		l := e.Limits()
		n += uint64(l.Lanes) * uint64(l.Max)
	}
	return int(min(n, maxWindow, max(most, 1)))
}

// buffer allocates memory for batches, valid until close; write says that the work writes pages
// there. With engines it is mapped and registered with them; an engine that cannot register it
// works without.
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

// run does a batch. If an engine failed and may still write to the batch's memory, run repeats the
// work in other memory, which b holds afterwards.
func (s *runner) run(ctx context.Context, b *bulk.Batch) error {
	err := s.planner.Run(ctx, b, &s.last)
	if errors.Is(err, bulk.ErrTorn) && b.Op == bulk.Decompress {
		s.account(false)
		s.abandon(b.Pages)
		b.Pages = make([]byte, len(b.Pages)) // not registered, so no engine writes to it
		err = s.planner.Run(ctx, b, &s.last)
	}
	s.account(err == nil)
	return err
}

// account adds the last batch to the sums; of a batch that was not done, only the failures.
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

// abandon forgets the buffer that begins at p, which stays mapped until the program ends.
func (s *runner) abandon(p []byte) {
	for i, b := range s.buffers {
		if len(p) > 0 && &b[0] == &p[0] {
			s.buffers = append(s.buffers[:i], s.buffers[i+1:]...)
			return
		}
	}
}

// close closes the engines. It notes an engine's error and goes on: the engine's work was verified.
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

// note records an error that does not stop the work.
func (s *runner) note(err error) { s.trouble = append(s.trouble, term.OneLine(err.Error())) }
