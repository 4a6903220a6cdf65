// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A View reads the image of a live store from another process and does not disturb it: it takes no
// lock, writes nothing, and takes no memory for the image.
//
// It copies by pread and maps nothing. Touching a hole of a tmpfs through a mapping, even to read
// it, takes a page, here in a segment that the store has given back: a page that the store neither
// counts nor frees. pread of a hole returns zeros, and a segment that goes away during the call is
// no signal. Mapping and pinning segments for a device that reads them in place takes three times
// as long as copying them (BenchmarkViewPinning).
//
// It is optimistic: it reads an entry, copies and proves what that refers to, and reads the entry
// again. If the entry has changed, or changed while it was read, the View repeats all of that. It
// calls a page corrupt only after maxLooks failures, lookPause apart, under the same entry. So each
// page is as it was at some moment of the call, and two pages may be of different moments. A Survey
// leaves out the second reading of entries.
//
// A View is immutable and safe for concurrent use. While it is open, the memory of the image is not
// freed, even if its device ends.
type View struct {
	geometry image.Geometry
	image    io.ReaderAt
	file     *os.File // the same; nil where New got something else
}

const (
	maxLooks  = 4                        // at a page before it is corrupt
	lookPause = time.Millisecond         // between two of them
	maxGap    = 2048                     // bytes between objects copied by one call: a second call costs more
	maxSpan   = 4 * image.EntriesPerPage // pages that the entries of objects copied at once may be apart
	badEntry  = image.Lost               // what could not be read
)

// Open makes a View of the image in f, which may be open for reading only, and takes charge of f.
// It fails where the superblock is missing, damaged or of another version.
func Open(f *os.File) (*View, error) {
	v, err := New(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	v.file = f
	return v, nil
}

// New makes a View of the image in r. It fails as Open does.
func New(r io.ReaderAt) (*View, error) {
	var page [image.PageSize]byte
	if n, err := r.ReadAt(page[:], 0); n < image.PageSize {
		return nil, fmt.Errorf("read superblock: %w: %w", image.ErrMagic, err)
	}
	b, err := image.DecodeSuperblock(page[:])
	if err != nil {
		return nil, err
	}
	return &View{geometry: b.Geometry(), image: r}, nil
}

// Close lets go of the image.
func (v *View) Close() error {
	if v.file == nil {
		return nil
	}
	return v.file.Close()
}

// Pages is the device's size in pages.
func (v *View) Pages() uint64 { return v.geometry.Pages }

// Next is the first page from this one on that may hold anything, or Pages if there is none: what
// lies between needs no look. Of a device that is mostly empty only a small part of the index
// exists, and the memory file itself says which.
func (v *View) Next(page uint64) (uint64, error) {
	if v.file == nil || page >= v.geometry.Pages {
		return min(page, v.geometry.Pages), nil
	}
	off, err := image.NextData(v.file, v.geometry.EntryAt(page))
	if err != nil {
		return 0, fmt.Errorf("look for the next index page: %w", err)
	}
	return min(v.geometry.EntryPage(off), v.geometry.Pages), nil
}

// read fills p from the image.
func (v *View) read(p []byte, off int64) error {
	if n, err := v.image.ReadAt(p, off); n < len(p) {
		return fmt.Errorf("read image at %d: %w", off, err)
	}
	return nil
}

// readRaw reads those of pages from first on, as many as there is room for in p.
func (v *View) readRaw(p []byte, first uint64) error { return v.read(p, v.geometry.EntryAt(first)) }

// readEntries reads the entries of pages from first on. Those that change at that moment become
// badEntry: the caller looks at each by itself. Scratch has room for them.
func (v *View) readEntries(entries []image.Entry, first uint64, scratch []byte) error {
	raw := scratch[:8*len(entries)]
	if err := v.readRaw(raw, first); err != nil {
		return err
	}
	for i := range entries {
		entries[i] = image.DecodeEntry(raw[8*i:])
	}
	if err := v.readRaw(raw, first); err != nil {
		return err
	}
	for i, e := range entries {
		if image.DecodeEntry(raw[8*i:]) != e {
			entries[i] = badEntry
		}
	}
	return nil
}

// entry is the one of a page at this moment; scratch has room for it.
func (v *View) entry(page uint64, scratch []byte) image.Entry {
	if v.readRaw(scratch[:8], page) != nil {
		return badEntry
	}
	return image.DecodeEntry(scratch)
}

// readStable reads a page's entry until try accepts it and the entry has not changed since. It
// returns false where try fails for good.
func (v *View) readStable(page uint64, scratch []byte, try func(image.Entry) bool) (e image.Entry, ok bool) {
	suspect, looks := image.Entry(0), 0
	for {
		e = v.entry(page, scratch)
		right := e.Valid(v.geometry.Segments) && try(e)
		switch {
		case v.entry(page, scratch) != e:
			looks = 0 // it changes faster than we look: that has an end
			continue
		case right:
			return e, true
		case e != suspect:
			suspect, looks = e, 0
		}
		if looks++; looks == maxLooks {
			return e, false
		}
		time.Sleep(lookPause)
	}
}

// word is what a same-filled entry of a page stands for, if that is intact; scratch has room for
// two words.
func (v *View) word(page uint64, e image.Entry, scratch []byte) (word uint64, ok bool) {
	if e.Codec() == image.SameSlot {
		return v.tableWord(page, e, scratch)
	}
	return e.Word(), true
}

// tableWord is the word of a slot that the entry of a page names. A word does not say which page it
// belongs to: the slot may have gone to another page and come back between two looks at the entry,
// which is then the same. So no slot of its set may get a word from before the entry was seen until
// after the word was read.
func (v *View) tableWord(page uint64, e image.Entry, scratch []byte) (word uint64, ok bool) {
	for {
		before, ok := v.renewals(e, scratch)
		if !ok || v.entry(page, scratch) != e || v.read(scratch[:16], image.SlotAt(e.Value())) != nil {
			return 0, false
		}
		word, intact := image.DecodeSlot(scratch)
		after, ok := v.renewals(e, scratch)
		if !ok || before == after {
			return word, ok && intact
		}
	}
}

// renewals is how often a slot of the set that an entry names has got a word; scratch has room for
// it.
func (v *View) renewals(e image.Entry, scratch []byte) (n uint64, ok bool) {
	err := v.read(scratch[:8], image.RenewalsAt(e.Value()))
	return binary.LittleEndian.Uint64(scratch), err == nil
}
