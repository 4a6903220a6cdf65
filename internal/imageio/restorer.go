// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/internal/term"
)

// A RestoreReport says what was restored; its JSON is what snapshot restore --json prints.
type RestoreReport struct {
	File     string `json:"file"`     // the file
	Dir      string `json:"dir"`      // the device
	Disksize uint64 `json:"disksize"` // of the saved device, bytes
	// Pages counts the pages with data, Kept those of them that the device had.
	Pages uint64 `json:"pages"`
	Kept  uint64 `json:"kept_pages"`
	// Recoded counts the pages whose objects need a dictionary that the device does not have.
	Recoded     uint64  `json:"recoded_pages"`
	Seconds     float64 `json:"seconds"`       // the time that it took
	GBPerSecond float64 `json:"gb_per_second"` // of pages
}

// A Restorer is one restore to a device.
type Restorer struct {
	Force      bool   // replace what the device holds
	Resume     bool   // leave pages that the device has
	Empty      bool   // the device holds nothing
	Connection int    // of the device, as its status has it
	Opens      int    // of the data file, as the status has it
	Kinds      []Kind // of engines that the device's algorithm may name
	// Changes returns how many pages were ever written to the device or discarded, and Changed is
	// what it returned when the device was found to be Empty or not.
	Changes func() (uint64, error)
	Changed uint64
	// Progress is told of each byte of the file twice: once it is checked, and once it is stored.
	Progress term.Steps
	Report   RestoreReport

	file    *snapshotFile
	image   *liveImage
	to      pageSink
	held    *heldPages // for Resume
	recoder *recoder   // nil where the device reads all objects
	zeros   uint64     // the first page that may have to be emptied
	stored  bool       // something was
}

// ErrHolds means that a device has data that a restore would replace.
var ErrHolds = errors.New("the device holds data: --force replaces all of it, --resume goes on with a restore that was interrupted")

// Restore reads all of the file and then stores its pages. Until it has read all, it changes
// nothing on the device.
func (r *Restorer) Restore(ctx context.Context) (err error) {
	began := time.Now()
	if !r.Empty && !r.Force && !r.Resume {
		return ErrHolds
	}
	if r.file, err = openSnapshot(r.Report.File); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.file.close()) }()
	r.Report.Disksize = r.file.reader.Header.Pages * pageSize
	if r.image, err = openImage(r.Report.Dir, Options{Mode: Off, Kinds: r.Kinds}, snapshot.BlockPages); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.image.close()) }()
	if r.Resume {
		r.file.want()
		r.held = newHeldPages(r.image)
	}
	if r.recoder, err = newRecoder(r.file.algorithm, r.image.algorithm); err != nil {
		return err
	}
	if err = r.settle(); err == nil {
		err = r.check(ctx)
	}
	if err == nil {
		err = r.store(ctx)
	}
	r.Report.Seconds = time.Since(began).Seconds()
	r.Report.GBPerSecond = float64(r.Report.Pages) * pageSize / 1e9 / r.Report.Seconds
	return errors.Join(err, r.Progress.End())
}

// check reads all of the file and says whether the device takes it.
func (r *Restorer) check(ctx context.Context) error {
	pages, next := r.image.view.Pages(), uint64(0)
	refuse := r.Resume && !r.Force
	err := r.file.each(ctx, true, r.Progress, func(b *snapshot.Block) error {
		if last := b.First + uint64(b.Page[len(b.Page)-1]); last >= pages {
			return fmt.Errorf("page %d of %s has data, and the device has %d pages: it needs a device of %s", last, r.Report.File, pages, term.ExactSize((last+1)*pageSize))
		}
		if !refuse {
			return nil
		}
		if err := r.held.nothing(ctx, next, b.First); err != nil {
			return err
		}
		next = min(b.First+snapshot.BlockPages, pages)
		return r.held.compare(ctx, b.First, r.file.pages, true)
	})
	if err == nil && refuse {
		err = r.held.nothing(ctx, next, pages)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return ErrInterrupted
	case err != nil && !errors.Is(err, errOthers):
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return err
}

// store stores the pages of the file, block by block.
func (r *Restorer) store(ctx context.Context) (err error) {
	if err := r.file.rewind(); err != nil {
		return err
	}
	to, err := control.OpenImport(r.Report.Dir, r.Connection, r.Opens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := r.unchanged(); err != nil {
		return err
	}
	r.to = to
	err = r.file.each(ctx, r.Resume, r.Progress, func(b *snapshot.Block) error { return r.block(ctx, b) })
	if err == nil {
		if err = r.empty(r.image.view.Pages()); err == nil {
			err = to.Flush()
		}
	}
	if errors.Is(err, context.Canceled) {
		err = ErrInterrupted
	}
	if err != nil && r.stored {
		err = fmt.Errorf("%w; the first %s with data are restored, and --resume goes on", err, term.Pages(r.Report.Pages))
	}
	return err
}

// errChanged means that a device may hold something else than it did when that was looked at.
var errChanged = errors.New("the device was written to while the file was checked, so nothing was changed: try again")

// settle has Resume begin with what the device holds once an earlier restore has ended: of one that
// was killed the device may be storing the last pages still.
func (r *Restorer) settle() error {
	if !r.Resume || r.Force {
		return nil
	}
	earlier, err := control.OpenImport(r.Report.Dir, r.Connection, r.Opens) // waits for it
	if err == nil {
		err = earlier.Close()
	}
	if err == nil {
		r.Changed, err = r.Changes()
	}
	return err
}

// unchanged fails if the device was written to since it was looked at, as by another restore that
// this one has waited for. With Force the device is no longer taken for empty.
func (r *Restorer) unchanged() error {
	now, err := r.Changes()
	switch {
	case err == nil && now == r.Changed:
	case r.Force:
		r.Empty = false
	case err == nil:
		return errChanged
	default:
		return err
	}
	return nil
}

// block stores the pages of a block.
func (r *Restorer) block(ctx context.Context, b *snapshot.Block) error {
	if r.Resume {
		if err := r.held.compare(ctx, b.First, r.file.pages, false); err != nil {
			return err
		}
	}
	kept := uint64(0)
	for i, n := range b.Page {
		page := b.First + uint64(n)
		if err := r.empty(page); err != nil {
			return err
		}
		r.zeros = page + 1
		if r.Resume && r.held.same[n] {
			kept++
			continue
		}
		r.stored = true
		if err := r.page(b, i, page); err != nil {
			return err
		}
	}
	if err := r.to.Flush(); err != nil {
		return err
	}
	r.Report.Pages, r.Report.Kept = r.Report.Pages+uint64(len(b.Page)), r.Report.Kept+kept
	return nil
}

// page stores a page with data.
func (r *Restorer) page(b *snapshot.Block, i int, page uint64) error {
	id, packed := b.ID[i], b.Object(i)
	switch {
	case id == codec.None:
		return r.to.Word(page, b.Word(i))
	case id == codec.ZstdDict && r.recoder != nil:
		var err error
		if id, packed, err = r.recoder.recode(id, packed); err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		r.Report.Recoded++
	}
	return r.to.Object(page, id, packed)
}

// empty empties the pages from the last one stored to before end, if the device may hold any.
func (r *Restorer) empty(end uint64) error {
	if r.Empty || !r.Force || r.zeros >= end {
		return nil
	}
	r.stored = true
	return r.to.Zeros(r.zeros, end-r.zeros)
}

// A recoder makes objects that a device can read of those made with another dictionary.
type recoder struct {
	from         *codec.Decompressor
	to           codec.Compressor
	page, packed []byte
}

// newRecoder returns a recoder of objects that from reads to objects of to; nil where none is
// needed.
func newRecoder(from, to codec.Algorithm) (*recoder, error) {
	if bytes.Equal(from.Dictionary(), to.Dictionary()) || from.Dictionary() == nil {
		return nil, nil
	}
	d, err := from.NewDecompressor()
	if err != nil {
		return nil, err
	}
	c, err := to.NewCompressor()
	if err != nil {
		return nil, err
	}
	return &recoder{d, c, make([]byte, pageSize), make([]byte, pageSize)}, nil
}

// recode returns another object of the same page, valid until the next call.
func (r *recoder) recode(id codec.ID, packed []byte) (codec.ID, []byte, error) {
	if err := r.from.Decompress(r.page, id, packed); err != nil {
		return 0, nil, err
	}
	id, n, err := r.to.Compress(r.packed, r.page)
	if err != nil || id == codec.Raw {
		return codec.Raw, r.page, nil // see codec.Compressor: what cannot be compressed is stored raw
	}
	return id, r.packed[:n], nil
}
