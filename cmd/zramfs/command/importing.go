// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/control"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/codec"
)

const (
	// importWindows is how many windows there are: one is read while another is compressed and a third
	// is handed in.
	importWindows = 3
	// importPages is how many pages a window has where the CPU works alone: what stays in a cache
	// while it goes from one to the next. Where there are engines, these say how many they want.
	importPages = 1024
)

// A pageSink takes pages; see control.Import.
type pageSink interface {
	pageTaker
	Flush() error
}

// An importing is one import.
type importing struct {
	file     io.ReaderAt   // immutable
	engines  engineOptions // immutable
	progress term.Steps    // used by the goroutine of store
	report   importReport

	pages int       // of a window; immutable while windows are on their way
	shop  *workshop // used by the goroutine of pack, while they are
	to    pageSink  // used by the goroutine of store
}

// run imports the file to d.
func (m *importing) run(ctx context.Context, d device) (err error) {
	algorithm, err := importAlgorithm(d)
	if err != nil {
		return err
	}
	if m.shop, err = newWorkshop(algorithm, m.engines, m.report.Pages); err != nil {
		return err
	}
	defer func() {
		m.shop.close()
		m.report.workReport = m.shop.report()
	}()
	to, err := control.OpenImport(d.Dir, d.Status.Fuse.Connection, d.Status.Opens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	m.to = to
	began := time.Now()
	err = errors.Join(m.copy(ctx), m.progress.End())
	m.report.Seconds = time.Since(began).Seconds()
	m.report.GBPerSecond = float64(m.report.Pages) * pageSize / 1e9 / m.report.Seconds
	return err
}

// importAlgorithm is the algorithm of d. Only its keeper has the dictionary for certain that it
// works with.
func importAlgorithm(d device) (codec.Algorithm, error) {
	a, err := codec.Parse(d.Status.Algorithm, engineNames()...)
	if err != nil || a.DictionaryFile() == "" {
		return deviceAlgorithm(d.Status.Algorithm, nil)
	}
	dictionary, err := control.DeviceDictionary(d.Dir)
	if err != nil {
		return codec.Algorithm{}, err
	}
	return deviceAlgorithm(d.Status.Algorithm, dictionary)
}

// copy imports the file window by window, each of which goes through three goroutines, in the order
// of the file.
func (m *importing) copy(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m.pages = m.shop.pages
	if len(m.shop.names) == 1 {
		m.pages = min(m.pages, importPages)
	}
	n := int(min(importWindows, (m.report.Pages+uint64(m.pages)-1)/uint64(m.pages)))
	empty, full, packed := make(chan *importWindow, n), make(chan *importWindow, n), make(chan *importWindow, n)
	for range n {
		empty <- newImportWindow(m.shop, m.pages)
	}
	go m.read(ctx, empty, full)
	go m.pack(ctx, full, packed)
	err := m.store(ctx, packed, empty)
	stop()
	for range packed { // until both have ended: the file and the planner are closed after this
	}
	return err
}

// read fills windows from the file. It ends after the last page, after an error, which goes with
// the window, and with ctx.
func (m *importing) read(ctx context.Context, empty <-chan *importWindow, full chan<- *importWindow) {
	defer close(full)
	for first := uint64(0); first < m.report.Pages; first += uint64(m.pages) {
		select {
		case w := <-empty:
			err := w.read(m.file, first, min(uint64(m.pages), m.report.Pages-first))
			w.err = err
			full <- w // there is room for all
			if err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// pack compresses the pages of windows.
func (m *importing) pack(ctx context.Context, full <-chan *importWindow, packed chan<- *importWindow) {
	defer close(packed)
	for w := range full {
		if w.err == nil {
			w.err = w.pack(ctx, m.shop)
		}
		packed <- w
	}
}

// store hands windows in, each of which is stored before the next is begun.
func (m *importing) store(ctx context.Context, packed <-chan *importWindow, empty chan<- *importWindow) error {
	done := uint64(0)
	for w := range packed {
		n, err := uint64(w.pages()), w.err
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = w.give(m.to)
		}
		if err == nil {
			err = m.to.Flush()
		}
		if err == nil {
			w.count(&m.report)
			err = m.progress.Add(n)
		}
		if err != nil {
			return endedAt(done, err)
		}
		done += n
		empty <- w
	}
	if done < m.report.Pages {
		return endedAt(done, ctx.Err())
	}
	return nil
}

// endedAt says how far an import came that err ended.
func endedAt(page uint64, err error) error {
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	return fmt.Errorf("pages before %d are imported: %w", page, err)
}
