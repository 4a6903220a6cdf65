// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"os"

	"github.com/zramfs/zramfs/codec/pagescan"
)

// A File is the pages of a file, each read on request. It is used by one goroutine.
type File struct {
	*os.File
	pages int64
	next  []byte // one page
}

// OpenFile opens a file or a block device. An incomplete page at its end is left out.
func OpenFile(path string) (*File, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	return &File{File: f, pages: size / pageSize}, nil
}

// Count is the number of pages, empty ones included.
func (f *File) Count() int64 { return f.pages }

// Page returns page n, which the caller may keep, or nil for a page of one repeated word, which no
// codec gets.
func (f *File) Page(_ context.Context, n int64) ([]byte, error) {
	if f.next == nil {
		f.next = make([]byte, pageSize)
	}
	if _, err := f.ReadAt(f.next, n*pageSize); err != nil {
		return nil, fmt.Errorf("read %s at %d: %w", f.Name(), n*pageSize, err)
	}
	if _, same := pagescan.SameFilled(f.next); same {
		return nil, nil
	}
	page := f.next
	f.next = nil
	return page, nil
}
