// SPDX-License-Identifier: Apache-2.0

// Package dictionary trains a dictionary for zstd on pages, and measures its gain on others.
package dictionary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	pageSize = 4096 // bytes

	// trainPages is the most pages to train on: with fewer the gain drops, with more only the time
	// grows.
	trainPages = 4096
	// trainLeast is the fewest pages that give a meaningful result.
	trainLeast = 64
	// trainLooks bounds the pages read to find them, so that an empty device does not take for
	// ever.
	trainLooks = 4 << 20
	// trainRun and trainAside: of each trainAside runs of this many pages, one is kept aside.
	trainRun, trainAside = 16, 4
)

// A Source holds the pages to train a dictionary on.
type Source interface {
	// Count returns the number of pages, empty ones included.
	Count() int64
	// Page returns page n, which the caller may keep, or nil for a page that no codec gets: an
	// empty one, or one repeated word.
	Page(ctx context.Context, n int64) ([]byte, error)
	io.Closer
}

// Training names the pages to train on, and the dictionary to make.
type Training struct {
	File  string // the dictionary to write
	From  string // the file or the device that holds the pages, for messages
	Open  func() (Source, error)
	Level int // of zstd, that the dictionary is for
	Size  int // the most bytes of the dictionary
}

// Run trains and measures. It writes the dictionary to t.File, which must not exist, unless the
// dictionary gains nothing. It shows its progress where terminal is one.
func (t Training) Run(ctx context.Context, terminal io.Writer) (Report, error) {
	if _, err := os.Lstat(t.File); err == nil {
		return Report{}, fmt.Errorf("%s exists already: what was stored with a dictionary can be read with that one only", t.File)
	}
	pages, err := t.read(ctx, terminal)
	if err != nil {
		return Report{}, err
	}
	fit, aside := divide(pages)
	data, err := codec.TrainDictionary(fit, t.Level, t.Size)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", t.From, err)
	}
	path, err := filepath.Abs(t.File)
	if err != nil {
		return Report{}, err
	}
	r := Report{File: path, Algorithm: fmt.Sprintf("zstd(level=%d,dict=%s)", t.Level, path), Size: len(data), Pages: len(fit), Measured: len(aside)}
	if r.Without, r.With, err = compare(t.Level, data, aside); err != nil {
		return Report{}, err
	}
	if r.With.Bytes >= r.Without.Bytes {
		return Report{}, fmt.Errorf("%s: %d pages that were kept aside take %d bytes without and %d with a dictionary: none is written",
			t.From, len(aside), r.Without.Bytes, r.With.Bytes)
	}
	if err := writeNew(path, data); err != nil {
		return Report{}, err
	}
	return r, nil
}

// A Report is the result of a training.
type Report struct {
	File      string `json:"file"`           // absolute path of the dictionary
	Algorithm string `json:"algorithm"`      // value of --algorithm that uses it
	Size      int    `json:"size"`           // size of the dictionary
	Pages     int    `json:"pages"`          // pages that it was trained on
	Measured  int    `json:"measured_pages"` // other pages, which were measured
	Without   Packed `json:"without"`        // measured pages without the dictionary
	With      Packed `json:"with"`           // measured pages with the dictionary
}

// Packed is the result of an algorithm on some pages.
type Packed struct {
	Bytes      int     `json:"bytes"`         // size of the objects
	Ratio      float64 `json:"ratio"`         // size of the pages over that of the objects
	Compress   float64 `json:"compress_us"`   // microseconds to compress a page
	Decompress float64 `json:"decompress_us"` // microseconds to decompress a page
}

// Text returns the report in four lines, the last with the use of the dictionary.
func (r Report) Text() string {
	return fmt.Sprintf("%s: %s, made of %d pages\n"+
		"%d other pages: %.1f%% fewer bytes, ratio %.2f with it and %.2f without\n"+
		"compress %.1f us a page with it, %.1f without; decompress %.1f with, %.1f without\n"+
		"Use it: zramfs mount --algorithm '%s' DIR\n",
		r.File, term.Size(uint64(r.Size)), r.Pages, r.Measured, 100*(1-float64(r.With.Bytes)/float64(r.Without.Bytes)),
		r.With.Ratio, r.Without.Ratio,
		r.With.Compress, r.Without.Compress, r.With.Decompress, r.Without.Decompress, r.Algorithm)
}

// read returns up to trainPages pages, from all over the source.
func (t Training) read(ctx context.Context, terminal io.Writer) (pages [][]byte, err error) {
	from, err := t.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	p := term.NewSteps(terminal, "reading", trainPages)
	pages, err = collect(ctx, from, p)
	if err = errors.Join(err, p.End()); err != nil {
		return nil, err
	}
	if len(pages) < trainLeast {
		return nil, fmt.Errorf("%s holds %d usable pages; training needs %d", t.From, len(pages), trainLeast)
	}
	return pages, nil
}

// collect reads pages of a source until it has trainPages that a codec gets. Its progress, out of
// trainPages, is the share of pages found or of pages read, whichever is larger.
func collect(ctx context.Context, from Source, p term.Steps) (pages [][]byte, err error) {
	total := from.Count()
	looks := min(total, trainLooks)
	shown, step := int64(0), stride(total)
	for i, at := int64(0), int64(0); i < looks && len(pages) < trainPages; i, at = i+1, (at+step)%total {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		page, err := from.Page(ctx, at)
		if err != nil {
			return nil, err
		}
		if page != nil {
			pages = append(pages, page)
		}
		done := max(int64(len(pages)), (i+1)*trainPages/looks)
		if err := p.Add(uint64(done - shown)); err != nil {
			return nil, err
		}
		shown = done
	}
	return pages, nil
}

// divide keeps one of trainAside runs of trainRun pages aside; the others fit the dictionary.
func divide(pages [][]byte) (fit, aside [][]byte) {
	for i, page := range pages {
		if i/trainRun%trainAside == trainAside-1 {
			aside = append(aside, page)
		} else {
			fit = append(fit, page)
		}
	}
	return fit, aside
}

// stride returns a step that visits total numbers, each once and evenly spread from the start: near
// the golden section, and coprime to total.
func stride(total int64) int64 {
	step := int64(float64(total)*0.6180339887) | 1
	for step < total && gcd(step, total) != 1 {
		step += 2
	}
	return step
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// compare measures zstd at a level on the same pages, without the dictionary and with it.
func compare(level int, dictionary []byte, pages [][]byte) (before, after Packed, err error) {
	without, err := codec.Parse(fmt.Sprintf("zstd(level=%d)", level))
	if err != nil {
		return before, after, err
	}
	with, err := codec.Parse(fmt.Sprintf("zstd(level=%d,dict=d)", level))
	if err != nil {
		return before, after, err
	}
	if with, err = with.WithDictionary("d", dictionary); err != nil {
		return before, after, err
	}
	if before, err = pack(without, pages); err != nil {
		return before, after, err
	}
	after, err = pack(with, pages)
	return before, after, err
}

// pack measures one algorithm. It goes over the pages twice and times the second pass, with warm
// caches.
func pack(a codec.Algorithm, pages [][]byte) (p Packed, err error) {
	c, err := a.NewCompressor()
	if err != nil {
		return p, err
	}
	d, err := a.NewDecompressor()
	if err != nil {
		return p, err
	}
	objects, back := make([]byte, len(pages)*pageSize), make([]byte, pageSize)
	ids, sizes := make([]codec.ID, len(pages)), make([]int, len(pages))
	for range 2 {
		p.Bytes = 0
		begin := time.Now()
		for i, page := range pages {
			object := objects[i*pageSize:]
			if ids[i], sizes[i], err = c.Compress(object, page); err != nil {
				return p, err
			}
			if ids[i] == codec.Raw {
				copy(object, page)
			}
			p.Bytes += sizes[i]
		}
		middle := time.Now()
		for i := range pages {
			if err := d.Decompress(back, ids[i], objects[i*pageSize:][:sizes[i]]); err != nil {
				return p, err
			}
		}
		p.Compress, p.Decompress = perPage(middle.Sub(begin), len(pages)), perPage(time.Since(middle), len(pages))
	}
	p.Ratio = float64(len(pages)*pageSize) / float64(p.Bytes)
	return p, nil
}

// perPage returns microseconds a page.
func perPage(d time.Duration, pages int) float64 { return d.Seconds() * 1e6 / float64(pages) }

// writeNew creates a file. After an error there is none.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
