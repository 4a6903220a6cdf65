// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	pageSectors = 8 // of 512 bytes
	groupPages  = 8 // neighbours that are kept together
)

// A request is what a line of the kernel's trace says.
type request struct {
	second float64 // of the kernel's clock
	kind   byte    // w, r or d
	page   uint64
	pages  uint64
}

// parse reads a line of block_bio_queue, such as
//
//	kswapd0-47 [000] ..... 12.345678: block_bio_queue: 7,0 WS 1024 + 8 [kswapd0]
//
// Anything else is not ok, as is a request without pages.
func parse(line string) (r request, ok bool) {
	before, after, found := strings.Cut(line, ": block_bio_queue: ")
	fields := strings.Fields(after)
	if !found || len(fields) < 5 || fields[3] != "+" {
		return request{}, false
	}
	second, err := strconv.ParseFloat(before[strings.LastIndexByte(before, ' ')+1:], 64)
	sector, serr := strconv.ParseUint(fields[2], 10, 64)
	sectors, nerr := strconv.ParseUint(fields[4], 10, 64)
	if err != nil || serr != nil || nerr != nil {
		return request{}, false
	}
	kinds := fields[1]
	r = request{second: second, page: sector / pageSectors, pages: sectors / pageSectors}
	switch {
	case strings.Contains(kinds, "D"):
		r.kind = 'd'
	case strings.Contains(kinds, "W"):
		r.kind = 'w'
	case strings.Contains(kinds, "R"):
		r.kind = 'r'
	}
	return r, r.kind != 0 && r.pages > 0
}

// A writer writes requests as lines of a file.
type writer struct {
	z     *gzip.Writer
	keep  uint64
	begun bool
	last  int // second of the last line
	first float64
	page  uint64 // of the last line
	lines int
	seen  map[byte]uint64 // pages by kind, also those that are not kept
}

func newWriter(to io.Writer, keep uint64) *writer {
	z, _ := gzip.NewWriterLevel(to, gzip.BestCompression) // the level is a valid one
	return &writer{z: z, keep: max(keep, 1), seen: map[byte]uint64{}}
}

// remark writes a line that holds no request.
func (w *writer) remark(text string) error {
	_, err := fmt.Fprintf(w.z, "# %s\n", text)
	return err
}

// add writes the pages of a request that are kept.
func (w *writer) add(r request) error {
	w.seen[r.kind] += r.pages
	if !w.begun {
		w.begun, w.first = true, r.second
	}
	for page, end := r.page, r.page+r.pages; page < end; {
		next := min((page/groupPages+1)*groupPages, end)
		if kept(page/groupPages, w.keep) {
			if err := w.line(r, page, next-page); err != nil {
				return err
			}
		}
		page = next
	}
	return nil
}

func (w *writer) line(r request, page, pages uint64) error {
	second := max(int(r.second-w.first), w.last)
	_, err := fmt.Fprintf(w.z, "%d %c %d %d\n", second-w.last, r.kind, int64(page-w.page), pages)
	w.last, w.page = second, page
	w.lines++
	return err
}

// kept says whether a group is the one that remains of as many as keep says.
func kept(group, keep uint64) bool {
	const odd = 0x9E3779B97F4A7C15 // the golden ratio: neighbours get numbers far from each other
	return group*odd>>32%keep == 0
}
