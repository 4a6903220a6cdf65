// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"errors"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/store/view"
)

// A liveImage is the image of a device in use, with a runner that reads it on all processors.
type liveImage struct {
	view      *view.View
	runner    *runner
	algorithm codec.Algorithm // of the device, with its dictionary
}

// openImage opens the image of the device at dir to read at most most pages of it.
func openImage(dir string, o Options, most uint64) (*liveImage, error) {
	image, err := control.OpenImage(dir)
	if err != nil {
		return nil, err
	}
	v, err := view.Open(image.File)
	if err != nil {
		return nil, err
	}
	algorithm, err := DeviceAlgorithm(image.Algorithm, image.Dictionary, o.Kinds)
	var runner *runner
	if err == nil {
		runner, err = newRunner(algorithm, o, min(most, v.Pages()))
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return &liveImage{view: v, runner: runner, algorithm: algorithm}, nil
}

func (l *liveImage) close() error {
	l.runner.close()
	return l.view.Close()
}

// An imageWindow is a part of an image and the work on it.
type imageWindow struct {
	*view.Window
	batch bulk.Batch
	// objects is the size of the objects, in bytes.
	objects int64
}

// newWindow returns a window for an operation: Verify, or Decompress, which leaves each page in
// batch.Pages.
func (l *liveImage) newWindow(op bulk.Op) *imageWindow {
	n := l.runner.pages
	w := &imageWindow{Window: view.NewWindow(l.runner.buffer(view.ArenaSize(n), false), n), batch: *bulk.NewBatch(op, n)}
	w.batch.Regions = [][]byte{w.Arena}
	if op == bulk.Decompress {
		w.batch.Pages = l.runner.buffer(n*pageSize, true)
	}
	w.batch.Before = func(items []uint32) {
		l.view.Fetch(w.Window, items)
		for _, i := range items {
			switch there := w.Kind[w.Page[i]] == view.PageObject; {
			case !there && w.batch.Verdict[i] == bulk.Pending:
				w.batch.Verdict[i] = bulk.Skipped
			case there && w.batch.Verdict[i] == bulk.Skipped: // not an object when an engine, failed since, got it
				w.batch.Verdict[i] = bulk.Pending
			}
		}
	}
	return w
}

// work does a window's operation on its objects. Afterwards a page whose codec cannot read its
// object has the kind PageCorrupt too.
func (l *liveImage) work(ctx context.Context, w *imageWindow) error {
	b := &w.batch
	b.N, b.Offset, b.Length, b.ID, b.Slot = len(w.Page), w.Offset, w.Length, w.ID, w.Page
	if err := l.runner.run(ctx, b); err != nil {
		return err
	}
	w.objects = 0
	for i, page := range w.Page {
		switch {
		case w.Kind[page] != view.PageObject:
		case b.Verdict[i] == bulk.Done:
			w.objects += int64(w.Stored(i))
		default:
			w.Kind[page] = view.PageCorrupt
		}
	}
	return nil
}

// walk visits the pages from first to before end that may hold data. It reads each part into a
// window that take returns, and passes it to done.
func (l *liveImage) walk(ctx context.Context, first, end uint64, take func() *imageWindow, done func(*imageWindow) error) error {
	for {
		page, err := l.view.Next(first)
		if err != nil || page >= end {
			return err
		}
		w := take()
		if err := l.view.Look(w.Window, page, end); err != nil {
			return err
		}
		if err := l.work(ctx, w); err != nil {
			return err
		}
		first = page + uint64(w.Pages)
		if err := done(w); err != nil {
			return err
		}
	}
}

// scrub visits all pages with data in the order of the image. It reads each part into w and passes
// it to done.
func (l *liveImage) scrub(ctx context.Context, w *imageWindow, done func(*imageWindow) error) error {
	survey := l.view.Survey(0, l.view.Pages())
	for {
		if err := survey.Next(w.Window); err != nil || w.Pages == 0 {
			return err
		}
		if err := l.work(ctx, w); err != nil {
			return err
		}
		if err := done(w); err != nil {
			return err
		}
	}
}
