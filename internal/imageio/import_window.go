// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"fmt"
	"io"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/store/view"
)

// An importWindow is a part of a file on its way to a device. One goroutine uses it at a time.
type importWindow struct {
	first uint64 // the number of its first page
	// kind and word describe each page: zeros are PageEmpty, other pages of one word PageSame.
	kind []view.PageKind
	word []uint64
	// batch holds the other pages, by ascending Slot; all pages lie in buffer.
	batch  *bulk.Batch
	buffer []byte
	// err is the error of an earlier stage; later stages skip the window.
	err error
}

// newImportWindow returns a window for n pages, which the runner compresses.
func newImportWindow(runner *runner, n int) *importWindow {
	w := &importWindow{
		kind: make([]view.PageKind, n), word: make([]uint64, n),
		batch: bulk.NewBatch(bulk.Compress, n), buffer: runner.buffer(n*pageSize, false),
	}
	w.batch.Slot = make([]uint32, n)
	return w
}

// pages returns the number of its pages.
func (w *importWindow) pages() int { return len(w.kind) }

// read reads and classifies n pages from page first on.
func (w *importWindow) read(from io.ReaderAt, first, n uint64) error {
	w.first, w.kind, w.word = first, w.kind[:n], w.word[:n]
	b := w.batch
	b.N, b.Pages = 0, w.buffer[:n*pageSize]
	if _, err := from.ReadAt(b.Pages, int64(first)*pageSize); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	for i := range w.kind {
		word, same := pagescan.SameFilled(b.Pages[i*pageSize : (i+1)*pageSize])
		switch {
		case !same:
			w.kind[i] = view.PageObject
			b.Slot[b.N] = uint32(i)
			b.N++
		case word == 0:
			w.kind[i] = view.PageEmpty
		default:
			w.kind[i], w.word[i] = view.PageSame, word
		}
	}
	return nil
}

// pack makes the objects.
func (w *importWindow) pack(ctx context.Context, runner *runner) error {
	b := w.batch
	if err := runner.run(ctx, b); err != nil {
		return err
	}
	for i, v := range b.Verdict[:b.N] {
		if v != bulk.Done {
			return fmt.Errorf("page %d was not compressed: %s", w.first+uint64(b.Slot[i]), v)
		}
	}
	return nil
}

// A pageTaker takes pages, each in its smallest form; see control.Import.
type pageTaker interface {
	Object(page uint64, id codec.ID, packed []byte) error
	Word(page, word uint64) error
	Zeros(first, count uint64) error
}

// give hands in all pages in order, neighbouring zeros in one call.
func (w *importWindow) give(to pageTaker) error {
	object, zeros := 0, uint64(0)
	for i, kind := range w.kind {
		page := w.first + uint64(i)
		if kind == view.PageEmpty {
			zeros++
			continue
		}
		if err := to.Zeros(page-zeros, zeros); err != nil {
			return err
		}
		zeros = 0
		var err error
		if kind == view.PageSame {
			err = to.Word(page, w.word[i])
		} else {
			err = w.object(to, page, object)
			object++
		}
		if err != nil {
			return err
		}
	}
	return to.Zeros(w.first+uint64(len(w.kind))-zeros, zeros)
}

// object hands in a page as its object, item i of the batch.
func (w *importWindow) object(to pageTaker, page uint64, i int) error {
	packed, ok := w.batch.Object(i)
	if !ok {
		return fmt.Errorf("the object of page %d has no place", page)
	}
	return to.Object(page, w.batch.ID[i], packed)
}

// count adds the window's pages to the report.
func (w *importWindow) count(r *ImportReport) {
	for _, kind := range w.kind {
		switch kind {
		case view.PageEmpty:
			r.Zeros++
			r.Same++
		case view.PageSame:
			r.Same++
		}
	}
	for _, n := range w.batch.Length[:w.batch.N] {
		r.ObjectBytes += uint64(n)
	}
}
