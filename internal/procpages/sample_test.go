// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
)

// numbered is memory in which each page begins with its number.
type numbered struct{}

func (numbered) ReadAt(out []byte, at int64) (int, error) {
	binary.NativeEndian.PutUint64(out, uint64(at/PageSize))
	return len(out), nil
}

func (numbered) Close() error { return nil }

// sampled returns the numbers of the pages that a sample takes of total pages.
func sampled(t *testing.T, s *Sample, total int) []int {
	t.Helper()
	m := memoryOf(slices.Repeat(table{entryTaken}, total), numbered{})
	if err := m.Walk(t.Context(), func(address int64) error { return s.visit(m, address) }); err != nil {
		t.Fatal(err)
	}
	var got []int
	for page := range slices.Chunk(s.Pages(), PageSize) {
		got = append(got, int(binary.NativeEndian.Uint64(page)))
	}
	return got
}

func TestSampleIsSpreadEvenly(t *testing.T) {
	for _, test := range []struct {
		limit    int
		expected int64
		offset   float64
		total    int
		want     []int
	}{
		{4, 4, 0, 4, []int{0, 1, 2, 3}},
		{4, 12, 0, 12, []int{0, 3, 6, 9}},
		{4, 12, 0.5, 12, []int{1, 4, 7, 10}},
		{3, 10, 0, 10, []int{0, 3, 6}},
		{4, 100, 0, 3, []int{0}},                        // fewer than expected: as even, but fewer
		{4, 2, 0.9, 2, []int{0, 1}},                     // all of them
		{4, 0, 0, 9, []int{0, 4, 8}},                    // many more than expected: thinned out twice
		{4, 8, 0, 17, []int{0, 8, 16}},                  // from steps of two to four and eight
		{5, 0, 0, 9, []int{0, 2, 4, 6, 8}},              // an odd number of copies
		{1, 0, 0, 5, []int{0}},                          // room for one
		{-1, 0, 0, 2, []int{0}},                         // as much
		{8, 0, 0, 16, []int{0, 2, 4, 6, 8, 10, 12, 14}}, // full again after the thinning
	} {
		s := NewSample(test.limit, test.expected, test.offset)
		if got := sampled(t, s, test.total); !slices.Equal(got, test.want) {
			t.Errorf("limit %d, expected %d, offset %v, of %d pages: %d, want %d",
				test.limit, test.expected, test.offset, test.total, got, test.want)
		}
		if s.Seen() != int64(test.total) {
			t.Errorf("%d pages seen, want %d", s.Seen(), test.total)
		}
	}
}

// Where the total is known, exactly as many as asked for are taken, whatever the numbers.
func TestSampleTakesWhatItPromises(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 7, 10, 99, 100} {
		for total := limit; total < 400; total += 13 {
			if got := sampled(t, NewSample(limit, int64(total), 0), total); len(got) != limit {
				t.Errorf("%d of %d pages are taken, want %d", len(got), total, limit)
			}
		}
	}
}

// A page that is swapped out right now gives its turn to the next one.
func TestSamplePassesOverPagesThatMove(t *testing.T) {
	s := NewSample(10, 10, 0)
	m := memoryOf(table{entryTaken, entrySwapped, entryTaken}, numbered{})
	for page := range int64(3) {
		if err := s.visit(m, page*PageSize); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Pages()) != 2*PageSize || s.Seen() != 2 {
		t.Errorf("%d bytes taken, %d pages seen; want two pages", len(s.Pages()), s.Seen())
	}
}

// A process that ends while it is read is an error that says so, and what was taken stays.
func TestSampleOfAProcessThatEnds(t *testing.T) {
	s := NewSample(10, 10, 0)
	m := memoryOf(slices.Repeat(table{entryTaken}, 3), endsAfter{2})
	err := m.Walk(t.Context(), func(address int64) error { return s.visit(m, address) })
	if !errors.Is(err, ErrGone) || len(s.Pages()) != 2*PageSize {
		t.Errorf("%v with %d bytes taken, want %v and two pages", err, len(s.Pages()), ErrGone)
	}
}

// endsAfter is the memory of a process that ends when the given count of pages is read.
type endsAfter struct{ pages int64 }

func (e endsAfter) ReadAt(out []byte, at int64) (int, error) {
	if at/PageSize >= e.pages {
		return 0, io.EOF
	}
	return len(out), nil
}

func (endsAfter) Close() error { return nil }
