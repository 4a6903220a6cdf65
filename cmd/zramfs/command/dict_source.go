// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/store/view"
)

// A trainSource holds the pages that a dictionary is trained on.
type trainSource interface {
	// count is how many pages there are, empty ones included.
	count() int64
	// page returns page n, which the caller may keep, and nil for one that no codec gets to see: an
	// empty one, or one word repeated.
	page(ctx context.Context, n int64) ([]byte, error)
	io.Closer
}

// filePages are the pages of a file.
type filePages struct {
	*os.File
	pages int64
	next  []byte // one page
}

func openFilePages(path string) (*filePages, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		_ = f.Close() // nothing was written to it
		return nil, err
	}
	return &filePages{File: f, pages: size / pageSize}, nil
}

func (f *filePages) count() int64 { return f.pages }

func (f *filePages) page(_ context.Context, n int64) ([]byte, error) {
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

func (p *imagePages) count() int64 { return int64(p.image.view.Pages()) }

func (p *imagePages) page(ctx context.Context, n int64) ([]byte, error) {
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
