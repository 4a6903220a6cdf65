// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// Read copies len(dst) bytes of a page, from off on. A page that was never
// written, or was discarded, reads as zeros. It fails with ErrRange, or with
// ErrCorrupt when what is stored does not pass its checksum; dst is then
// undefined. A page that was written back it reads from the backing device, and
// fails with ErrBacking where that fails.
func (w *Worker) Read(page uint64, off int, dst []byte) error {
	if err := w.inRange(page, off, len(dst)); err != nil {
		return err
	}
	w.count.reads.Add(1)
	w.beginRead()
	e := w.s.idx.load(page)
	if e != 0 {
		w.noteRead(page)
	}
	err := w.load(page, e, off, dst)
	w.endRead()
	if err == nil {
		w.result.add(e)
		return nil
	}
	return w.readSlowly(page, off, dst, err)
}

// corrupt counts a damaged page and reports it; err is of its read, or nil.
func (w *Worker) corrupt(page uint64, err error) {
	w.s.errors.note(checksumError)
	f := w.s.cfg.OnCorrupt
	if errors.Is(err, errOverwritten) {
		f = w.s.cfg.OnOverwritten
	}
	if f != nil {
		f(page)
	}
}

// load copies len(dst) bytes of the page that e stands for. The caller has begun a
// read or holds the page's lock, so that what e refers to is not freed. It fails with
// errAway for a page that was written back, whose stub is then in w.away.
func (w *Worker) load(page uint64, e image.Entry, off int, dst []byte) error {
	switch {
	case e == 0:
		clear(dst)
		return nil
	case !e.Valid(w.s.image.Segments):
		return fmt.Errorf("%w: page %d: impossible entry %#x", ErrCorrupt, page, uint64(e))
	case e.Same():
		word, ok := w.s.same.word(e)
		if !ok {
			return fmt.Errorf("%w: page %d: damaged word", ErrCorrupt, page)
		}
		fillWord(dst, off, word)
		return nil
	}
	packed, err := w.s.object(page, e)
	if err != nil {
		return err
	}
	if e.WrittenBack() {
		return w.loadStub(page, packed)
	}
	if len(dst) == PageSize {
		return w.unpack(dst, page, e.Codec(), packed)
	}
	if err := w.unpack(w.packed[:], page, e.Codec(), packed); err != nil {
		return err
	}
	copy(dst, w.packed[off:])
	return nil
}

func (w *Worker) unpack(dst []byte, page uint64, id codec.ID, packed []byte) error {
	if id == codec.PageDenseCluster {
		return w.s.clusters.unpack(dst, page, packed)
	}
	if err := w.decompressor.Decompress(dst, id, packed); err != nil {
		return fmt.Errorf("%w: page %d: %w", ErrCorrupt, page, err)
	}
	return nil
}

// fillWord fills dst, which begins off bytes into a page, with a repeated word.
func fillWord(dst []byte, off int, word uint64) {
	if word == 0 {
		clear(dst)
		return
	}
	var pattern [8]byte
	binary.LittleEndian.PutUint64(pattern[:], word)
	n := 0
	for ; n < len(dst) && n < 8; n++ {
		dst[n] = pattern[(off+n)%8]
	}
	for n < len(dst) { // double what is there
		n += copy(dst[n:], dst[:n])
	}
}
