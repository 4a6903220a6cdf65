// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// ErrObject: what was to be put is no object of that page.
var ErrObject = errors.New("not an object of the page")

// Seal is the checksum that an object of a page is stored with. Another process that compresses a
// page seals it, and Put proves the seal: damage on the way does not go unnoticed.
func Seal(page uint64, id codec.ID, packed []byte) uint32 { return image.Seal(page, id, packed) }

// Put stores a page that another process compressed: packed is its object by codec id, and sum its
// seal. Put does not keep packed, which must not change during the call. It fails with ErrRange,
// ErrFull, or ErrObject where packed cannot be an object or is not the one that was sealed; the
// page then keeps what it held. Put does not decompress it.
func (w *Worker) Put(page uint64, id codec.ID, sum uint32, packed []byte) error {
	if err := w.inRange(page, 0, 0); err != nil {
		return err
	}
	if id < codec.Raw || id > codec.ZstdDict || len(packed) == 0 || len(packed) > PageSize || id == codec.Raw && len(packed) != PageSize {
		return fmt.Errorf("%w: page %d: %d bytes of codec %s", ErrObject, page, len(packed), id)
	}
	if image.Seal(page, id, packed) != sum {
		return fmt.Errorf("%w: page %d: checksum mismatch", ErrObject, page)
	}
	w.count.writes.Add(1)
	err := w.ensureIndex(page)
	var e image.Entry
	if err == nil {
		e, err = w.place(page, id, packed)
	}
	if err != nil {
		w.s.errors.note(failedWrite)
		return err
	}
	l := w.lockPage(page)
	w.publish(page, e)
	l.Unlock()
	return nil
}
