// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/store/view"
)

// heldPages compares what a device holds with a snapshot.
type heldPages struct {
	image  *liveImage
	window *imageWindow              // of a block's pages
	same   [snapshot.BlockPages]bool // whether the device has a page of the last block
}

// errOthers means that a device is none that a restore of this snapshot was interrupted on.
var errOthers = errors.New("the device holds something else there, so nothing was changed: --force replaces all that it holds")

func newHeldPages(l *liveImage) *heldPages {
	return &heldPages{image: l, window: l.newWindow(bulk.Decompress)}
}

// compare compares the block from page first on with its pages in a snapshot. With refuse a page
// that has data, other than the snapshot, is an error.
func (h *heldPages) compare(ctx context.Context, first uint64, pages []byte, refuse bool) error {
	w := h.window
	if err := h.image.view.Look(w.Window, first, first+snapshot.BlockPages); err != nil {
		return err
	}
	if err := h.image.work(ctx, w); err != nil {
		return err
	}
	for i := range w.Pages {
		has, holds := h.page(i)
		h.same[i] = has != nil && bytes.Equal(has, pages[i*pageSize:][:pageSize])
		if refuse && holds && !h.same[i] {
			return fmt.Errorf("page %d: %w", w.Number(i), errOthers)
		}
	}
	return nil
}

// page returns the bytes of page i of the window, nil where they cannot be read, and whether it
// holds anything but zeros.
func (h *heldPages) page(i int) (bytes []byte, holds bool) {
	w := h.window
	bytes = w.batch.Pages[i*pageSize:][:pageSize]
	switch w.Kind[i] {
	case view.PageObject:
	case view.PageEmpty:
		clear(bytes)
		return bytes, false
	case view.PageSame:
		fillPage(bytes, w.Word[i])
		return bytes, w.Word[i] != 0
	default:
		return nil, true
	}
	return bytes, true
}

// nothing wants the device to hold nothing in the pages from first to before end.
func (h *heldPages) nothing(ctx context.Context, first, end uint64) error {
	return h.image.walk(ctx, first, end, func() *imageWindow { return h.window }, func(w *imageWindow) error {
		for i := range w.Pages {
			if _, holds := h.page(i); holds {
				return fmt.Errorf("page %d: %w", w.Number(i), errOthers)
			}
		}
		return nil
	})
}
