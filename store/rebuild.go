// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// rebuild derives from the index what lies outside the image: what each
// segment holds, the references of the same-filled table, and the counters. Of
// a new image it finds nothing. Objects that no entry names, which a process
// that died had placed and not published, or replaced and not freed, are left to
// sweep. An impossible entry is counted and told, and costs nothing but its page.
func (s *Store) rebuild() error {
	t := tally{s: s}
	s.idx.each(0, s.image.IndexPages-1, func(n uint64) {
		for page := n * image.EntriesPerPage; page < min((n+1)*image.EntriesPerPage, s.image.Pages); page++ {
			if e := s.idx.entry(page); e != 0 {
				t.adopt(page, e)
			}
		}
	})
	t.settle()
	if err := s.adoptClusters(); err != nil {
		return err
	}
	for slot, refs := range s.same.refs {
		if refs == 0 { // its last page was replaced by a process that died
			s.same.words[2*slot].Store(0)
			s.same.words[2*slot+1].Store(0)
		}
	}
	if err := s.ages.init(s); err != nil {
		return fmt.Errorf("take memory for the ages of pages: %w", err)
	}
	return s.adoptSegments()
}

// A tally adds up what the index names. Nothing else uses the store yet, so it does
// without the atomics of counters, which would take most of the time.
type tally struct {
	s              *Store
	pages          [codecs]int64
	bytes          [codecs]int64
	footprintBytes int64 // that the objects take of segments
}

// adopt counts what an entry refers to.
func (t *tally) adopt(page uint64, e image.Entry) {
	s := t.s
	if !e.Valid(s.image.Segments) {
		s.errors.note(checksumError)
		if f := s.cfg.OnCorrupt; f != nil {
			f(page)
		}
		return
	}
	id := e.Codec()
	t.pages[id]++
	switch {
	case id == image.SameSlot:
		s.same.refs[e.Value()]++
	case e.Object():
		if e.Clustered() && !s.firstAs(page, e) {
			return
		}
		n := image.Footprint(e.Length())
		t.bytes[id] += int64(e.Length())
		t.footprintBytes += int64(n)
		g := &s.segment(e.Segment()).word
		g.Store((g.Load()>>stateBits+uint64(n))<<stateBits | segUnswept)
		s.fresh = max(s.fresh, e.Segment()+1)
		if e.WrittenBack() {
			s.adoptBlock(page, e)
		}
	}
}

// firstAs reports whether a page is the first of a cluster's with that entry. An entry that damage
// has made another one is counted apart: nothing frees what is counted for it, and a recount finds
// that. In place of the others' it could count for less than they will free, and their segment be
// empty with an object of another page in it.
func (s *Store) firstAs(page uint64, e image.Entry) bool {
	for before := e.Owner(page); before < page; before++ {
		if s.idx.load(before) == e {
			return false
		}
	}
	return true
}

func (t *tally) settle() {
	c := &t.s.base
	for id := range codecs {
		c.pages[id].Store(t.pages[id])
		c.bytes[id].Store(t.bytes[id])
	}
	c.footprint.Store(t.footprintBytes)
}

// adoptSegments maps the segments that hold something and gives back the memory
// of the others, a run of segments at a time.
func (s *Store) adoptSegments() error {
	var used []run
	for n := uint64(0); n < s.fresh; {
		r := s.runAt(n)
		n = r.end
		if s.segment(r.first).state() == segUnswept {
			used = append(used, r)
			s.charged.Add(r.bytes())
			s.unswept.Add(int64(r.end - r.first))
			continue
		}
		if err := s.memory.punch(s.image.SegmentAt(r.first), r.bytes()); err != nil {
			return fmt.Errorf("free %d segments from %d: %w", r.end-r.first, r.first, err)
		}
		for v := r.first; v < r.end; v++ {
			s.void = append(s.void, uint32(v))
		}
	}
	if rest, end := s.image.SegmentAt(s.fresh), s.image.SegmentAt(s.image.Segments); rest < end {
		if err := s.memory.punch(rest, end-rest); err != nil {
			return fmt.Errorf("free unused segments: %w", err)
		}
	}
	invariant.Point("unused segments given back")
	s.sweepNext = s.fresh
	s.notePeak(s.used())
	return s.mapRuns(used)
}

// A run is of segments in the same state, from first to before end.
type run struct{ first, end uint64 }

func (r run) bytes() int64 { return int64(r.end-r.first) * image.SegmentSize }

// mapAtOnce bounds a run, so that several processors can share the work: 64 MiB.
const mapAtOnce = 256

func (s *Store) runAt(first uint64) run {
	end := first + 1
	for end < min(s.fresh, first+mapAtOnce) && s.segment(end).state() == s.segment(first).state() {
		end++
	}
	return run{first, end}
}

// mapRuns maps what is there already, so that the page path need not fault it in.
// Mapping takes most of the time of Open, and several processors share it well.
func (s *Store) mapRuns(runs []run) error {
	var (
		next    atomic.Int64
		mapping sync.WaitGroup
		once    sync.Once
		bad     error
	)
	for range min(runtime.GOMAXPROCS(0), len(runs)) {
		mapping.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(runs); i = next.Add(1) - 1 {
				r := runs[i]
				if err := s.memory.adopt(s.image.SegmentAt(r.first), r.bytes()); err != nil {
					once.Do(func() { bad = fmt.Errorf("map %d segments from %d: %w", r.end-r.first, r.first, err) })
				}
			}
		})
	}
	mapping.Wait()
	return bad
}
