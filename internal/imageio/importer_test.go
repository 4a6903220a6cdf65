// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/term"
)

// A pageSeries is a file that makes each page when it is read: in turn two of zeros, one of a word,
// and some of words that differ.
type pageSeries struct {
	pages uint64
	// fail is the page that cannot be read; 0 for none.
	fail uint64
	// read is called with the first page of each read; may be nil.
	read func(first uint64)
}

var errSeries = errors.New("the disk has gone")

func (s pageSeries) ReadAt(p []byte, at int64) (int, error) {
	first := uint64(at) / pageSize
	for i := range uint64(len(p) / pageSize) {
		if s.fail != 0 && first+i >= s.fail {
			return int(i) * pageSize, errSeries
		}
		s.page(p[i*pageSize:(i+1)*pageSize], first+i)
	}
	if s.read != nil {
		s.read(first)
	}
	return len(p), nil
}

// page makes a page.
func (s pageSeries) page(p []byte, n uint64) {
	switch {
	case n%16 < 2:
		clear(p)
	case n%16 == 2:
		fillPage(p, n)
	default:
		for i := 0; i < len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], n*uint64(i/64))
		}
	}
}

// A deviceOfPages records the pages handed in.
type deviceOfPages struct {
	t     *testing.T
	d     *codec.Decompressor
	pages [][]byte // nil for what was not flushed
	fresh map[uint64][]byte
	next  uint64 // all before it were handed in
	flush func(next uint64, interrupt func()) error
	stop  func()
}

func (d *deviceOfPages) put(page uint64, content []byte) {
	if page != d.next {
		d.t.Errorf("page %d is handed in, want %d", page, d.next)
	}
	d.next = page + 1
	d.fresh[page] = content
}

func (d *deviceOfPages) Object(page uint64, id codec.ID, packed []byte) error {
	content := make([]byte, pageSize)
	if err := d.d.Decompress(content, id, packed); err != nil {
		return err
	}
	d.put(page, content)
	return nil
}

func (d *deviceOfPages) Word(page, word uint64) error {
	content := make([]byte, pageSize)
	fillPage(content, word)
	d.put(page, content)
	return nil
}

func (d *deviceOfPages) Zeros(first, count uint64) error {
	for page := first; page < first+count; page++ {
		d.put(page, make([]byte, pageSize))
	}
	return nil
}

func (d *deviceOfPages) Flush() error {
	if d.flush != nil {
		if err := d.flush(d.next, d.stop); err != nil {
			return err
		}
	}
	for page, content := range d.fresh {
		d.pages[page] = content
	}
	clear(d.fresh)
	return nil
}

// importSeries imports a series and wants the pages before stored to be flushed, each unchanged. It
// calls flush before each flush; flush may interrupt the import.
func importSeries(t *testing.T, s pageSeries, flush func(next uint64, interrupt func()) error, stored uint64) (ImportReport, error) {
	t.Helper()
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	runner, err := newRunner(a, Options{Mode: Off}, s.pages)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := codec.NewDecompressor()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := &deviceOfPages{t: t, d: reader, stop: stop, pages: make([][]byte, s.pages), fresh: map[uint64][]byte{}, flush: flush}
	m := Importer{File: s, Progress: term.NewSteps(io.Discard, "", 0), runner: runner, to: d, Report: ImportReport{Pages: s.pages}}
	ran := m.copy(ctx)
	runner.close()
	want := make([]byte, pageSize)
	for n, page := range d.pages {
		s.page(want, uint64(n))
		if there := uint64(n) < stored; there != (page != nil) || there && !bytes.Equal(page, want) {
			t.Fatalf("page %d of %d: stored: %v, want %v; or it is another one", n, stored, page != nil, there)
		}
	}
	return m.Report, ran
}

// All pages arrive in order and are counted.
func TestImportWindows(t *testing.T) {
	for _, pages := range []uint64{1, importPages, importPages + 1, 5*importPages - 7} {
		r, err := importSeries(t, pageSeries{pages: pages}, nil, pages)
		zeros, words := uint64(0), uint64(0)
		for n := range pages {
			switch n % 16 {
			case 0, 1:
				zeros++
			case 2:
				words++
			}
		}
		if err != nil || r.Zeros != zeros || r.Same != zeros+words || r.ObjectBytes == 0 != (pages == 1) {
			t.Errorf("%d pages: %+v, %v; want %d of zeros and %d of a word", pages, r, err, zeros, words)
		}
	}
}

// The other windows are read while the first is being stored.
func TestImportWindowsOverlap(t *testing.T) {
	var once sync.Once
	third := make(chan struct{})
	s := pageSeries{pages: 4 * importPages, read: func(first uint64) {
		if first == 2*importPages {
			once.Do(func() { close(third) })
		}
	}}
	_, err := importSeries(t, s, func(uint64, func()) error {
		select {
		case <-third:
			return nil
		case <-time.After(20 * time.Second):
			return errors.New("the third window is not read before the first is stored")
		}
	}, s.pages)
	if err != nil {
		t.Error(err)
	}
}

// After any failure, all windows before it are stored and none after, and the error says so.
func TestImportWindowsFail(t *testing.T) {
	for name, c := range map[string]struct {
		series pageSeries
		flush  func(next uint64, interrupt func()) error
		stored uint64
		want   error
		words  string
	}{
		"first page": {pageSeries{fail: 1}, nil, 0, errSeries, "pages before 0 are imported"},
		"read":       {pageSeries{fail: 2*importPages + 3}, nil, 2 * importPages, errSeries, "pages before 2048 are imported"},
		"store": {pageSeries{}, func(next uint64, _ func()) error {
			if next > importPages {
				return io.ErrShortWrite
			}
			return nil
		}, importPages, io.ErrShortWrite, "pages before 1024 are imported"},
		"interrupted": {pageSeries{}, func(next uint64, interrupt func()) error {
			if next == 2*importPages {
				interrupt()
			}
			return nil
		}, 2 * importPages, ErrInterrupted, "pages before 2048 are imported: interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			c.series.pages = 6 * importPages
			_, err := importSeries(t, c.series, c.flush, c.stored)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v, want %v and %q", err, c.want, c.words)
			}
		})
	}
}
