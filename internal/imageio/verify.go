// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/store/view"
)

// maxListed is the most wrong pages listed by number.
const maxListed = 64

// A VerifyReport holds the findings of Verify; its JSON is what verify --json prints.
type VerifyReport struct {
	Dir string `json:"dir"` // the device
	// Pages counts stored pages: same-filled ones and objects, right or wrong.
	Pages   uint64 `json:"pages"`
	Same    uint64 `json:"same_pages"` // pages of one repeated word
	Objects uint64 `json:"objects"`    // compressed objects
	// WrittenBack counts pages on the backing device. They are not read, and no part of Pages: only
	// what the memory has of them was checked.
	WrittenBack uint64 `json:"written_back_pages"`
	// ObjectBytes is the size of the right objects.
	ObjectBytes uint64 `json:"object_bytes"`
	// Wrong counts pages that differ from what was written; WrongPages lists the first of them.
	Wrong      uint64   `json:"wrong"`
	WrongPages []uint64 `json:"wrong_pages"`
	Seconds    float64  `json:"seconds"` // the time that it took
	// Speeds count objects only.
	PagesPerSecond float64 `json:"pages_per_second"`
	GBPerSecond    float64 `json:"gb_per_second"` // rate in 10^9 bytes of pages a second
	WorkReport
}

// Verify reads all stored pages of the device at dir and checks each by its checksum and by
// decompressing it. Damaged pages are counted in the report and are no error.
func Verify(ctx context.Context, dir string, o Options, p term.Steps) (r VerifyReport, err error) {
	l, err := openImage(dir, o, math.MaxUint64)
	if err != nil {
		return r, err
	}
	defer func() {
		if cerr := l.close(); err == nil {
			err = cerr
		}
		r.WorkReport = l.runner.report()
	}()
	r = VerifyReport{Dir: dir, WrongPages: []uint64{}} // not nil: it is printed as a JSON array
	return r, r.read(ctx, l, p)
}

// read reads an image until its end, or the context's.
func (r *VerifyReport) read(ctx context.Context, l *liveImage, p term.Steps) error {
	began := time.Now()
	err := l.scrub(ctx, l.newWindow(bulk.Verify), func(w *imageWindow) error { return p.Add(r.add(w)) })
	r.rate(time.Since(began))
	if eerr := p.End(); err == nil {
		err = eerr
	}
	return err
}

// add counts a window's pages and returns how many of them are stored.
func (r *VerifyReport) add(w *imageWindow) uint64 {
	before := r.Pages + r.WrittenBack
	r.ObjectBytes += uint64(w.objects)
	for i, kind := range w.Kind {
		switch kind {
		case view.PageEmpty:
			continue
		case view.PageWrittenBack:
			r.WrittenBack++
			continue
		case view.PageSame:
			r.Same++
		case view.PageObject:
			r.Objects++
		case view.PageCorrupt:
			r.Wrong++
			r.list(w.Number(i))
		}
		r.Pages++
	}
	return r.Pages + r.WrittenBack - before
}

// list records a wrong page, up to maxListed.
func (r *VerifyReport) list(page uint64) {
	at, _ := slices.BinarySearch(r.WrongPages, page)
	if at < maxListed {
		r.WrongPages = slices.Insert(r.WrongPages, at, page)[:min(len(r.WrongPages)+1, maxListed)]
	}
}

// rate computes the speeds.
func (r *VerifyReport) rate(took time.Duration) {
	r.Seconds = took.Seconds()
	if r.Seconds > 0 {
		r.PagesPerSecond = float64(r.Objects) / r.Seconds
		r.GBPerSecond = r.PagesPerSecond * pageSize / 1e9
	}
}
