// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/store/view"
)

// DevicePages reads pages of a running device from its image. One goroutine uses it.
type DevicePages struct {
	image  *liveImage
	window *imageWindow // of one page
}

// OpenPages opens the pages of the device at dir.
func OpenPages(dir string) (*DevicePages, error) {
	image, err := openImage(dir, Options{Mode: Off}, 1)
	if err != nil {
		return nil, err
	}
	return &DevicePages{image, image.newWindow(bulk.Decompress)}, nil
}

// Count is the number of pages of the device, empty ones included.
func (p *DevicePages) Count() int64 { return int64(p.image.view.Pages()) }

// Page returns page n, which the caller may keep. It returns nil for a page that no codec gets: an
// empty one, one repeated word, a damaged one, or one on a backing device.
func (p *DevicePages) Page(ctx context.Context, n int64) ([]byte, error) {
	w := p.window
	if err := p.image.view.Look(w.Window, uint64(n), uint64(n)+1); err != nil || len(w.Page) == 0 {
		return nil, err
	}
	if err := p.image.work(ctx, w); err != nil || w.Kind[0] != view.PageObject {
		return nil, err
	}
	return append([]byte(nil), w.batch.Pages[:pageSize]...), nil
}

// Close closes the image.
func (p *DevicePages) Close() error { return p.image.close() }
