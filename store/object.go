// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// place writes an object for page into fresh space. It cannot be reached before
// its entry is published.
func (w *Worker) place(page uint64, id codec.ID, packed []byte) (image.Entry, error) {
	return w.placeFor(page, 0, id, packed)
}

// placeFor is place for an object of a cluster's members.
func (w *Worker) placeFor(page uint64, members uint8, id codec.ID, packed []byte) (image.Entry, error) {
	where, err := w.room(image.Footprint(len(packed)))
	if err != nil {
		return 0, err
	}
	h := w.s.image.HeaderAt(where)
	h.Page, h.Length, h.Codec, h.Members = uint32(page), uint16(len(packed)), id, members
	invariant.Point("object begun")
	copy(w.s.image.Payload(where, len(packed)), packed)
	invariant.Point("object without checksum")
	h.Checksum = w.s.image.Checksum(where, len(packed))
	return image.ObjectEntry(where, id, len(packed)), nil
}

// object returns the payload that a valid entry refers to, if it is page's and
// intact.
func (s *Store) object(page uint64, e image.Entry) ([]byte, error) {
	where, n := e.Where(), e.Length()
	if s.owns(page, e) { // else a writer may be at it
		prefetch(s.image.Payload(where, n))
		if s.image.HeaderAt(where).Checksum == s.image.Checksum(where, n) {
			return s.image.Payload(where, n), nil
		}
	}
	return nil, fmt.Errorf("%w: page %d: checksum mismatch", ErrCorrupt, page)
}

// owns reports whether a valid object entry of page refers to an object of page:
// a damaged entry may refer to another page's, or to no memory.
func (s *Store) owns(page uint64, e image.Entry) bool {
	switch s.segment(e.Segment()).state() {
	case segVoid, segReady, segEmpty:
		return false
	}
	return s.image.HeaderAt(e.Where()).Matches(page, e)
}

// holds reports whether the entry of a page refers to an object of the page that is old by codec
// id. The caller holds the page's lock.
func (s *Store) holds(page uint64, e image.Entry, id codec.ID, old []byte) bool {
	return e.Object() && e.Valid(s.image.Segments) && e.Codec() == id && e.Length() == len(old) && s.owns(page, e) &&
		bytes.Equal(s.image.Payload(e.Where(), len(old)), old)
}

// prefetch has the processor bring all of an object from memory at once, before the
// checksum asks for it line by line: a read of a page at random is 2 to 4 % shorter.
// It uses nothing of what it reads, so it may read bytes that are being changed.
//
//go:norace
func prefetch(p []byte) {
	var sum byte
	for i := 0; i < len(p); i += cacheLine {
		sum += p[i]
	}
	runtime.KeepAlive(sum)
}

// prove decompresses what was just placed and compares: an object is published
// only if it reads back as what was written.
func (w *Worker) prove(page uint64, e image.Entry, src []byte) {
	if !invariant.Enabled {
		return
	}
	if err := w.load(page, e, 0, w.proof); err != nil {
		panic(fmt.Sprintf("page %d does not read back: %v", page, err))
	}
	if !bytes.Equal(w.proof, src) {
		panic(fmt.Sprintf("page %d reads back as something else", page))
	}
}
