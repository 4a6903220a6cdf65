// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/store/view"
)

// An ExportReport says what was exported; its JSON is what export --json prints.
type ExportReport struct {
	Dir   string `json:"dir"`        // the device
	File  string `json:"file"`       // the file
	First uint64 `json:"first_page"` // the first exported page
	// Pages counts the file's pages, Data those of them that are no holes.
	Pages       uint64  `json:"pages"`
	Data        uint64  `json:"data_pages"`
	Seconds     float64 `json:"seconds"`       // the time that it took
	GBPerSecond float64 `json:"gb_per_second"` // of data
	WorkReport
}

// ErrWrittenBack means that a page lies on the device's backing device, encrypted with a key that
// no other process gets.
var ErrWrittenBack = errors.New("it lies on the backing device, which only the device itself can read: read its data file or its loop device instead, as with dd")

// An Exporter writes pages to a file.
type Exporter struct {
	Force    bool
	Engines  Options
	Progress term.Steps
	Stored   uint64 // pages that the device stores, as far as that is known
	Report   ExportReport

	// A window counts as done once it is on the disk, which takes longer than writing it. These
	// describe the last window written.
	pending       uint64 // its pages
	begin, length int64  // where it lies in the file
}

// An exportFile is the file that pages are exported to.
type exportFile interface {
	io.WriterAt
	// startSync starts writing a part of the file to disk, and sync waits until it is there.
	startSync(begin, length int64) error
	sync(begin, length int64) error
}

// Export writes the file.
func (e *Exporter) Export(ctx context.Context) (err error) {
	most := e.Report.Pages
	if most == 0 {
		most = math.MaxUint64 // all of it
	}
	e.Engines.Pages = min(most, e.Stored)
	l, err := openImage(e.Report.Dir, e.Engines, most)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.close())
		e.Report.WorkReport = l.runner.report()
	}()
	if e.Report.Pages == 0 {
		e.Report.Pages = l.view.Pages()
	}
	if r := &e.Report; r.First >= l.view.Pages() || r.Pages > l.view.Pages()-r.First {
		return &RangeError{r.First, r.Pages, l.view.Pages()}
	}
	f, err := newWholeFile(e.Report.File, e.Force)
	if err != nil {
		return err
	}
	began := time.Now()
	err = e.copy(ctx, l, f)
	if err == nil {
		err = f.finish(int64(e.Report.Pages) * pageSize)
	}
	err = errors.Join(err, e.Progress.Add(e.pending), e.Progress.End())
	took := time.Since(began)
	e.Report.Seconds = took.Seconds()
	e.Report.GBPerSecond = float64(e.Report.Data) * pageSize / 1e9 / took.Seconds()
	return errors.Join(err, f.close())
}

// A RangeError is a range of pages beyond the end of a device.
type RangeError struct{ First, Count, Pages uint64 }

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("range %d:%d: the device has %d pages", e.First, e.Count, e.Pages)
}

// exportWindows is the number of windows: one is written to the file while another is filled.
const exportWindows = 2

// copy writes all pages that are not zeros.
func (e *Exporter) copy(ctx context.Context, l *liveImage, f exportFile) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	empty, full := make(chan *imageWindow, exportWindows), make(chan *imageWindow, exportWindows)
	for range exportWindows {
		empty <- l.newWindow(bulk.Decompress)
	}
	written := make(chan error, 1)
	go func() {
		var first error
		for w := range full {
			if first == nil {
				if first = e.write(w, f); first != nil {
					stop(first) // no later window is needed
				}
			}
			empty <- w
		}
		written <- first
	}()
	err := l.walk(ctx, e.Report.First, e.Report.First+e.Report.Pages, func() *imageWindow { return <-empty },
		func(w *imageWindow) error { full <- w; return nil })
	close(full)
	if werr := <-written; werr != nil {
		return werr // err is only the cancellation it caused
	}
	return err
}

// write writes a window. Neighbouring pages go out in one call.
func (e *Exporter) write(w *imageWindow, f exportFile) error {
	begin := 0 // of a run of pages with data
	flush := func(end int) error {
		if begin == end {
			return nil
		}
		_, err := f.WriteAt(w.batch.Pages[begin*pageSize:end*pageSize], int64(w.First-e.Report.First+uint64(begin))*pageSize)
		return err
	}
	there := uint64(0)
	for i, kind := range w.Kind {
		if kind == view.PageCorrupt {
			return fmt.Errorf("page %d is damaged; zramfs verify lists all such pages", w.First+uint64(i))
		}
		if kind == view.PageWrittenBack {
			return fmt.Errorf("page %d: %w", w.First+uint64(i), ErrWrittenBack)
		}
		if kind != view.PageEmpty {
			there++
		}
		if kind == view.PageSame {
			fillPage(w.batch.Pages[i*pageSize:(i+1)*pageSize], w.Word[i])
		}
		if kind == view.PageEmpty || kind == view.PageSame && w.Word[i] == 0 {
			if err := flush(i); err != nil {
				return err
			}
			begin = i + 1
			continue
		}
		e.Report.Data++
	}
	if err := flush(w.Pages); err != nil {
		return err
	}
	return e.settle(f, int64(w.First-e.Report.First)*pageSize, int64(w.Pages)*pageSize, there)
}

// settle starts writing the last pages written, a number of them, to disk, and waits for those
// before them.
func (e *Exporter) settle(f exportFile, begin, length int64, pages uint64) error {
	if err := errors.Join(f.startSync(begin, length), f.sync(e.begin, e.length)); err != nil {
		return err
	}
	done := e.pending
	e.pending, e.begin, e.length = pages, begin, length
	return e.Progress.Add(done)
}

// fillPage fills a page with a word in the processor's byte order: amd64 and arm64 are both
// little-endian.
func fillPage(page []byte, word uint64) {
	for i := range 8 {
		page[i] = byte(word >> (8 * i))
	}
	for n := 8; n < len(page); {
		n += copy(page[n:], page[:n])
	}
}
