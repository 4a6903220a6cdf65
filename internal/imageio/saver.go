// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/store/view"
)

// A SaveReport says what was saved; its JSON is what snapshot save --json prints.
type SaveReport struct {
	Dir       string `json:"dir"`       // the device
	File      string `json:"file"`      // the file
	Disksize  uint64 `json:"disksize"`  // of the device, bytes
	Algorithm string `json:"algorithm"` // of the device
	// Pages counts the pages with data, Same those of them that a word fills.
	Pages uint64 `json:"pages"`
	Same  uint64 `json:"same_pages"`
	// ObjectBytes is the size of the objects of all other pages.
	ObjectBytes uint64 `json:"object_bytes"`
	FileBytes   int64  `json:"file_bytes"` // size of the file
	// KeptBytes counts the bytes that an earlier save had written.
	KeptBytes int64 `json:"kept_bytes"`
	// Written counts the pages that were written to the device, or discarded, while it was saved.
	Written     uint64  `json:"written_meanwhile"`
	OneMoment   bool    `json:"one_moment"`    // whether there was no such page
	SHA256      string  `json:"sha256"`        // of the file up to its trailer's digest
	Seconds     float64 `json:"seconds"`       // the time that it took
	GBPerSecond float64 `json:"gb_per_second"` // of pages
}

// A Saver is one save of a device.
type Saver struct {
	Force, Resume bool
	Live          bool   // no error where the device is written to at the same time
	Kinds         []Kind // of engines that the device's algorithm may name
	// Changes returns how many pages were ever written to the device or discarded.
	Changes  func() (uint64, error)
	Progress term.Steps
	Report   SaveReport

	image  *liveImage
	file   *partialFile
	parts  *snapshot.Encoder
	packer codec.Compressor // of objects for pages that have none of their own; nil until one is needed
	packed [pageSize]byte
}

// own returns an object for a page that shares the device's with others, given the page's bytes.
func (s *Saver) own(bytes []byte) (codec.ID, []byte, error) {
	if s.packer == nil {
		a, err := codec.Parse("page:dense")
		if err != nil {
			return 0, nil, err
		}
		if s.packer, err = a.NewCompressor(); err != nil {
			return 0, nil, err
		}
	}
	id, n, err := s.packer.Compress(s.packed[:], bytes)
	if err != nil || id == codec.Raw {
		return codec.Raw, bytes, err
	}
	return id, s.packed[:n], nil
}

// errWritten means that the pages of a snapshot would be of different moments.
var errWritten = errors.New("the device was written to while it was saved, so its pages would be of different moments: let nothing write to it, or take --live")

// Save saves the device. After an error the file stays under its name with PartialSuffix if it has
// blocks.
func (s *Saver) Save(ctx context.Context) (err error) {
	began := time.Now()
	if s.image, err = openImage(s.Report.Dir, Options{Mode: Off, Kinds: s.Kinds}, windowPages); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.image.close()) }()
	changes, err := s.Changes()
	if err != nil {
		return err
	}
	if s.file, err = newPartialFile(s.Report.File, s.Force, s.Resume); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.file.close()) }()
	s.parts = snapshot.NewEncoder()
	err = errors.Join(s.write(ctx, changes), s.Progress.End())
	if err != nil {
		return s.leave(err)
	}
	s.Report.Seconds = time.Since(began).Seconds()
	s.Report.GBPerSecond = float64(s.Report.Pages) * pageSize / 1e9 / s.Report.Seconds
	return nil
}

// leave says what is left of a save that failed, and removes what is of no use.
func (s *Saver) leave(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		err = ErrInterrupted
	case errors.Is(err, errOtherPartial):
		return err
	}
	if s.parts.Data() == 0 && !s.Resume {
		return errors.Join(err, s.file.discard())
	}
	return fmt.Errorf("%w; %s has %s, and --resume goes on with it", err, s.file.whole.temporary, term.Pages(s.parts.Data()))
}

// errOtherPartial means that a file to go on with is of another device.
var errOtherPartial = errors.New("is of a device of other size or algorithm: remove it, or begin anew by --force")

// write writes the file and gives it its name.
func (s *Saver) write(ctx context.Context, changes uint64) error {
	l, r := s.image, &s.Report
	r.Disksize, r.Algorithm = l.view.Pages()*pageSize, l.algorithm.String()
	header, err := s.parts.Header(snapshot.Header{Pages: l.view.Pages(), Algorithm: r.Algorithm, Dictionary: l.algorithm.Dictionary()})
	if err != nil {
		return err
	}
	if ours, err := s.file.begins(header); err != nil || !ours && s.Resume {
		return errors.Join(err, fmt.Errorf("%s %w", s.file.whole.temporary, errOtherPartial))
	}
	if err := s.file.add(header); err != nil {
		return err
	}
	if err := s.pages(ctx); err != nil {
		return err
	}
	now, err := s.Changes()
	if err != nil {
		return err
	}
	r.Written, r.OneMoment = now-changes, now == changes
	if !r.OneMoment && !s.Live {
		return errWritten
	}
	end, trailer := s.parts.Trailer(r.OneMoment)
	if err := s.file.add(end); err != nil {
		return err
	}
	r.FileBytes, r.KeptBytes, r.SHA256 = s.file.at, s.file.kept, hex.EncodeToString(trailer.Digest[:])
	return s.file.finish()
}

// pages writes all pages with data, block by block.
func (s *Saver) pages(ctx context.Context) error {
	v, w := s.image.view, s.image.newWindow(bulk.Verify)
	for first := uint64(0); ; {
		page, err := v.Next(first)
		if err != nil || page >= v.Pages() {
			return err
		}
		first = page / snapshot.BlockPages * snapshot.BlockPages
		if err := v.Look(w.Window, first, v.Pages()); err != nil {
			return err
		}
		if err := s.image.work(ctx, w); err != nil {
			return err
		}
		if err := s.window(w); err != nil {
			return err
		}
		first += uint64(w.Pages)
	}
}

// window writes the blocks of a window.
func (s *Saver) window(w *imageWindow) error {
	object, before := 0, s.parts.Data()
	for begin := 0; begin < w.Pages; begin += snapshot.BlockPages {
		s.parts.Begin(w.First + uint64(begin))
		for i := begin; i < min(begin+snapshot.BlockPages, w.Pages); i++ {
			if err := s.page(w, i, object); err != nil {
				return err
			}
			if object < len(w.Page) && int(w.Page[object]) == i {
				object++
			}
		}
		if err := s.file.add(s.parts.Block()); err != nil {
			return err
		}
	}
	return s.Progress.Add(s.parts.Data() - before)
}

// page adds page i of a window to the block, by that object if it has one.
func (s *Saver) page(w *imageWindow, i, object int) error {
	page, r := w.Number(i), &s.Report
	switch w.Kind[i] {
	case view.PageObject:
		packed, ok := w.batch.Object(object)
		if !ok {
			return fmt.Errorf("the object of page %d has no place", page)
		}
		id := w.ID[object]
		if w.Shared(object) {
			var err error
			if id, packed, err = s.own(packed); err != nil {
				return fmt.Errorf("page %d: %w", page, err)
			}
		}
		s.parts.Object(page, id, packed)
		r.ObjectBytes += uint64(len(packed))
	case view.PageSame:
		if w.Word[i] == 0 {
			return nil
		}
		s.parts.Word(page, w.Word[i])
		r.Same++
	case view.PageCorrupt:
		return fmt.Errorf("page %d is damaged; zramfs verify lists all such pages", page)
	case view.PageWrittenBack:
		return fmt.Errorf("page %d: %w", page, ErrWrittenBack)
	default:
		return nil
	}
	r.Pages++
	return nil
}
