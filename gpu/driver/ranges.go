// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"slices"
)

// granule is the unit to which sizes are rounded up: a multiple of the alignment of CUDA's
// allocations.
const granule = 512

// ranges allocates ranges of any size in slabs, by best fit, of equal ones the first. Neighbouring
// free ranges are always joined.
type ranges struct {
	slabs []*slab
	free  []*span // by size, then slab, then offset
	spare []*span // unused spans, for reuse
	next  int     // the number of the next slab
	held  int64   // bytes of all slabs
	used  int64   // bytes allocated, rounded up
}

// A slab is one allocation.
type slab struct {
	number int
	size   int
	first  *span
}

// A span is a range of a slab, and knows its neighbours.
type span struct {
	slab           *slab
	off, size      int
	free           bool
	before, behind *span
}

func rounded(n int) int { return (n + granule - 1) / granule * granule }

// add adds a new slab, all free.
func (r *ranges) add(size int) *slab {
	s := &slab{number: r.next, size: size}
	r.next++
	s.first = r.span()
	*s.first = span{slab: s, size: size}
	r.slabs = append(r.slabs, s)
	r.held += int64(size)
	r.release(s.first)
	return s
}

// remove removes a slab that is all free.
func (r *ranges) remove(s *slab) {
	r.take(s.first)
	r.spare = append(r.spare, s.first)
	r.slabs = slices.DeleteFunc(r.slabs, func(o *slab) bool { return o == s })
	r.held -= int64(s.size)
}

// empty reports whether the whole slab is free.
func (s *slab) empty() bool { return s.first.free && s.first.size == s.size }

// cut allocates a range of n bytes, or returns nil if no slab has one.
func (r *ranges) cut(n int) *span {
	n = rounded(n)
	i, _ := slices.BinarySearchFunc(r.free, n, func(s *span, n int) int { return cmp.Compare(s.size, n) })
	if i == len(r.free) {
		return nil
	}
	s := r.free[i]
	r.take(s)
	if rest := s.size - n; rest > 0 {
		b := r.span()
		*b = span{slab: s.slab, off: s.off + n, size: rest, before: s, behind: s.behind}
		if b.behind != nil {
			b.behind.before = b
		}
		s.behind, s.size = b, n
		r.release(b)
	}
	r.used += int64(n)
	return s
}

// put frees a range, and joins it with free neighbours.
func (r *ranges) put(s *span) {
	r.used -= int64(s.size)
	if b := s.behind; b != nil && b.free {
		r.take(b)
		s.size += b.size
		if s.behind = b.behind; s.behind != nil {
			s.behind.before = s
		}
		r.spare = append(r.spare, b)
	}
	if a := s.before; a != nil && a.free {
		r.take(a)
		a.size += s.size
		if a.behind = s.behind; a.behind != nil {
			a.behind.before = a
		}
		r.spare = append(r.spare, s)
		s = a
	}
	r.release(s)
}

func (r *ranges) span() *span {
	if n := len(r.spare); n > 0 {
		s := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return s
	}
	return new(span)
}

// release adds a span to the free ones.
func (r *ranges) release(s *span) {
	s.free = true
	i, _ := slices.BinarySearchFunc(r.free, s, compareSpans)
	r.free = slices.Insert(r.free, i, s)
}

// take removes it from them.
func (r *ranges) take(s *span) {
	s.free = false
	if i, found := slices.BinarySearchFunc(r.free, s, compareSpans); found {
		r.free = slices.Delete(r.free, i, i+1)
	}
}

func compareSpans(a, b *span) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.slab.number, b.slab.number), cmp.Compare(a.off, b.off))
}
