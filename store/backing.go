// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// A page that was written back has a stub in the image instead of its object: a small object
// that names a block of the backing device and proves it. All that moves, frees and counts objects
// does so with stubs. A block belongs to the one stub that names it, and is free once that is
// freed.
//
// The request that reads such a page reads the block by itself. It holds no lock and keeps no
// writer from freeing, so that the block may be freed and overwritten by then. Such a block does
// not open, and the request looks at the page again. Only a block that its page still names is
// called damaged.

// writtenBack is what the store has of the backing device.
type writtenBack struct {
	device *Backing // immutable; nil where there is none
	blocks blocks
	buffer []byte      // immutable slice header; each worker has a part, and the batch
	batch  batch       // of the writeback under way
	writes total       // pages written; immutable
	short  atomic.Bool // stubs will have no room, and writes leave a segment to them
}

const (
	roomEach  = 2 * PageSize // of the buffer: a block and its tag
	spareMore = 4096         // blocks in use beyond the pages of the device: those about to be freed
)

// errAway: the page's bytes lie on the backing device. It never leaves the package.
var errAway = errors.New("written back")

// init makes what the pages on a backing device need.
func (a *writtenBack) init(s *Store) (err error) {
	if a.device = s.cfg.Backing; a.device == nil {
		return nil
	}
	a.blocks.init(min(a.device.blocks, s.image.Pages+spareMore, 1<<32))
	if a.buffer, err = makeBuffer((len(s.workers) + batchPages) * roomEach); err != nil {
		return fmt.Errorf("make buffers for the backing device: %w", err)
	}
	rest := a.buffer
	for _, w := range s.workers {
		w.block, rest = rest[:roomEach:roomEach], rest[roomEach:]
		if w.sealer, err = newSealer(a.device.secret.mem[:secretKey]); err != nil {
			return err
		}
	}
	a.batch.init(rest)
	a.batch.sealer, err = newSealer(a.device.secret.mem[:secretKey])
	return err
}

// stub returns the stub that an entry of page refers to, if it is intact. The caller has begun a
// read or holds the page's lock.
func (s *Store) stub(page uint64, e image.Entry) (image.Stub, bool) {
	packed, err := s.object(page, e)
	if err != nil {
		return image.Stub{}, false
	}
	st, ok := image.DecodeStub(packed)
	return st, ok && s.writtenBack.device != nil
}

// freeBlock frees the block of an unreachable stub. The block of a damaged one stays taken until
// the store is opened again: to free another page's would lose that page.
func (s *Store) freeBlock(e image.Entry) {
	page := uint64(s.image.HeaderAt(e.Where()).Page)
	if st, ok := s.stub(page, e); ok {
		s.writtenBack.blocks.release(uint64(st.Block))
	}
}

// adoptBlock takes the block of a page that Open finds. Nothing else uses the store yet.
func (s *Store) adoptBlock(page uint64, e image.Entry) {
	if s.image.HeaderAt(e.Where()).Matches(page, e) {
		if st, ok := image.DecodeStub(s.image.Payload(e.Where(), e.Length())); ok && s.image.HeaderAt(e.Where()).Checksum == s.image.Checksum(e.Where(), e.Length()) {
			s.writtenBack.blocks.adopt(uint64(st.Block))
		}
	}
}

// loadStub keeps the stub of a page that was written back. It fails with errAway, or with
// ErrCorrupt if there is none.
func (w *Worker) loadStub(page uint64, packed []byte) error {
	st, ok := image.DecodeStub(packed)
	if !ok || w.s.writtenBack.device == nil {
		return fmt.Errorf("%w: page %d: impossible stub", ErrCorrupt, page)
	}
	w.stub = st
	return errAway
}

// readSlowly reads a page that load could not read at once, for err: its object has moved, or its
// bytes lie on the backing device.
func (w *Worker) readSlowly(page uint64, off int, dst []byte, err error) error {
	for failed := uint64(0); ; {
		if err == errAway {
			st := w.stub
			if err = w.readBack(page, &st); err == nil {
				w.result.add(image.ObjectEntry(0, st.Codec, int(st.Length)))
				copy(dst, w.page[off:])
				return nil
			}
			failed = st.Serial
		}
		bad := err
		l := w.s.lock(page)
		l.Lock()
		err = w.load(page, w.s.idx.load(page), off, dst)
		l.Unlock()
		switch {
		case err == nil:
			return nil
		case err == errAway && w.stub.Serial != failed: // it lies somewhere else by now
		case err == errAway:
			return w.failRead(page, bad)
		default:
			return w.failRead(page, err)
		}
	}
}

// failRead counts a read that failed.
func (w *Worker) failRead(page uint64, err error) error {
	w.s.errors.note(failedRead)
	if errors.Is(err, ErrCorrupt) {
		w.corrupt(page, err)
	}
	return err
}

// readBack reads a page that was written back into w.page. It waits for the backing device.
func (w *Worker) readBack(page uint64, st *image.Stub) error {
	w.stepAside(false)
	w.reclaim(true)
	w.parked.Store(true)
	defer w.parked.Store(false)
	w.count.bdReads.Add(1)
	if err := w.s.writtenBack.device.read(w.block[:PageSize], uint64(st.Block)); err != nil {
		return fmt.Errorf("page %d: %w", page, err)
	}
	packed, err := w.sealer.open(w.block, page, st)
	if err != nil {
		return err
	}
	if st.Codec == codec.Raw {
		copy(w.page[:], packed)
		return nil
	}
	return w.unpack(w.page[:], page, st.Codec, packed)
}
