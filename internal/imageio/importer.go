// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	// importWindows is the number of windows: one is read while another is compressed and a third
	// is handed in.
	importWindows = 3
	// importPages is the pages of a window without engines: they stay in a cache from stage to
	// stage. Engines say how many they want.
	importPages = 1024
)

// ErrInterrupted means that the context of the work was cancelled, as by a signal.
var ErrInterrupted = errors.New("interrupted")

// A pageSink takes pages; see control.Import.
type pageSink interface {
	pageTaker
	Flush() error
}

// An Importer is one import.
type Importer struct {
	File       io.ReaderAt // immutable
	Algorithm  string      // of the device, as its status has it; immutable
	Connection int         // of the device, as its status has it; immutable
	Opens      int         // of the data file, as the status has it; immutable
	Engines    Options     // immutable
	Progress   term.Steps  // used by the goroutine of store
	Report     ImportReport

	pages  int      // of a window; immutable while windows are on their way
	runner *runner  // used by the goroutine of pack, while they are
	to     pageSink // used by the goroutine of store
}

// Run imports the file into the device.
func (m *Importer) Run(ctx context.Context) (err error) {
	algorithm, err := importAlgorithm(m.Report.Dir, m.Algorithm, m.Engines.Kinds)
	if err != nil {
		return err
	}
	if m.runner, err = newRunner(algorithm, m.Engines, m.Report.Pages); err != nil {
		return err
	}
	defer func() {
		m.runner.close()
		m.Report.WorkReport = m.runner.report()
	}()
	to, err := control.OpenImport(m.Report.Dir, m.Connection, m.Opens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	m.to = to
	began := time.Now()
	err = errors.Join(m.copy(ctx), m.Progress.End())
	m.Report.Seconds = time.Since(began).Seconds()
	m.Report.GBPerSecond = float64(m.Report.Pages) * pageSize / 1e9 / m.Report.Seconds
	return err
}

// importAlgorithm returns the algorithm of the device at dir, with the dictionary that its keeper
// holds: the dictionary's file may have changed.
func importAlgorithm(dir, name string, kinds []Kind) (codec.Algorithm, error) {
	a, err := codec.Parse(name, names(kinds)...)
	if err != nil || a.DictionaryFile() == "" {
		return DeviceAlgorithm(name, nil, kinds)
	}
	dictionary, err := control.DeviceDictionary(dir)
	if err != nil {
		return codec.Algorithm{}, err
	}
	return DeviceAlgorithm(name, dictionary, kinds)
}

// copy imports the file window by window, in file order. Each window passes through three
// goroutines.
func (m *Importer) copy(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m.pages = m.runner.pages
	if len(m.runner.names) == 1 {
		m.pages = min(m.pages, importPages)
	}
	n := int(min(importWindows, (m.Report.Pages+uint64(m.pages)-1)/uint64(m.pages)))
	empty, full, packed := make(chan *importWindow, n), make(chan *importWindow, n), make(chan *importWindow, n)
	for range n {
		empty <- newImportWindow(m.runner, m.pages)
	}
	go m.read(ctx, empty, full)
	go m.pack(ctx, full, packed)
	err := m.store(ctx, packed, empty)
	stop()
	for range packed { // until both goroutines end: the caller then closes the file and the planner
	}
	return err
}

// read fills windows from the file. It ends after the last page, after an error, which it passes on
// in the window, and when ctx is done.
func (m *Importer) read(ctx context.Context, empty <-chan *importWindow, full chan<- *importWindow) {
	defer close(full)
	for first := uint64(0); first < m.Report.Pages; first += uint64(m.pages) {
		select {
		case w := <-empty:
			err := w.read(m.File, first, min(uint64(m.pages), m.Report.Pages-first))
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
func (m *Importer) pack(ctx context.Context, full <-chan *importWindow, packed chan<- *importWindow) {
	defer close(packed)
	for w := range full {
		if w.err == nil {
			w.err = w.pack(ctx, m.runner)
		}
		packed <- w
	}
}

// store hands in windows; each is stored before the next begins.
func (m *Importer) store(ctx context.Context, packed <-chan *importWindow, empty chan<- *importWindow) error {
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
			w.count(&m.Report)
			err = m.Progress.Add(n)
		}
		if err != nil {
			return endedAt(done, err)
		}
		done += n
		empty <- w
	}
	if done < m.Report.Pages {
		return endedAt(done, ctx.Err())
	}
	return nil
}

// endedAt adds to err how far the import came.
func endedAt(page uint64, err error) error {
	if errors.Is(err, context.Canceled) {
		err = ErrInterrupted
	}
	return fmt.Errorf("pages before %d are imported: %w", page, err)
}
