// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/store/view"
)

// A trainSource holds the pages that a dictionary is trained on.
type trainSource interface {
	// Count is how many pages there are, empty ones included.
	Count() int64
	// Page returns page n, which the caller may keep, and nil for one that no codec gets to see: an
	// empty one, or one word repeated.
	Page(ctx context.Context, n int64) ([]byte, error)
	io.Closer
}

// imagePages are the pages of a device, read from its image: up hides the data file.
type imagePages struct {
	image  *liveImage
	window *imageWindow // of one page
}

func openImagePages(d device) (*imagePages, error) {
	image, err := openImage(d, engineOptions{mode: gpuOff}, 1)
	if err != nil {
		return nil, err
	}
	return &imagePages{image, image.newWindow(bulk.Decompress)}, nil
}

func (p *imagePages) Count() int64 { return int64(p.image.view.Pages()) }

func (p *imagePages) Page(ctx context.Context, n int64) ([]byte, error) {
	w := p.window
	if err := p.image.view.Look(w.Window, uint64(n), uint64(n)+1); err != nil || len(w.Page) == 0 {
		return nil, err
	}
	if err := p.image.work(ctx, w); err != nil || w.Kind[0] != view.PageObject {
		return nil, err // what is damaged is a matter for verify
	}
	return append([]byte(nil), w.batch.Pages[:pageSize]...), nil
}

// Close lets go of the image.
func (p *imagePages) Close() error { return p.image.close() }
