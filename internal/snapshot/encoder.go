// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/zramfs/zramfs/codec"
)

// An Encoder makes the parts of a snapshot: the header, then each block with its pages in ascending
// order, then the trailer. Each part is valid until the next call. One goroutine uses it.
type Encoder struct {
	sum      hash.Hash // of the parts so far
	blocks   uint32
	data     uint64 // pages of the blocks so far
	end      uint64 // the page behind the last of them
	length   int64  // of the parts so far
	first    uint64 // of the block under way
	records  []byte // of the block under way
	payload  []byte // of the block under way
	finished []byte // the part that was returned last
}

// NewEncoder returns an Encoder for one snapshot.
func NewEncoder() *Encoder { return &Encoder{sum: sha256.New()} }

// Length is the size in bytes of all parts so far.
func (e *Encoder) Length() int64 { return e.length }

// Data is the number of pages in the blocks so far.
func (e *Encoder) Data() uint64 { return e.data }

// Header returns the header. It fails for one that a Reader would refuse.
func (e *Encoder) Header(h Header) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	n := headerSize + len(h.Algorithm) + len(h.Dictionary) + sumSize
	p := append(make([]byte, 0, n), magic...)
	p = binary.LittleEndian.AppendUint32(p, Version)
	p = binary.LittleEndian.AppendUint32(p, uint32(n))
	p = binary.LittleEndian.AppendUint64(p, h.Pages)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(h.Algorithm)))
	p = binary.LittleEndian.AppendUint32(p, uint32(len(h.Dictionary)))
	p = append(append(p, h.Algorithm...), h.Dictionary...)
	return e.note(seal(p)), nil
}

// check returns why a header is not valid.
func (h Header) check() error {
	switch {
	case h.Pages == 0 || h.Pages > maxPages:
		return fmt.Errorf("a device of %d pages", h.Pages)
	case len(h.Algorithm) > maxName:
		return fmt.Errorf("an algorithm's name of %d bytes", len(h.Algorithm))
	case len(h.Dictionary) > codec.MaxDictionary:
		return fmt.Errorf("a dictionary of %d bytes", len(h.Dictionary))
	}
	return nil
}

// Begin begins the block of page first, a multiple of BlockPages.
func (e *Encoder) Begin(first uint64) {
	e.first, e.records, e.payload = first, e.records[:0], e.payload[:0]
}

// Object adds a page of the block by its object.
func (e *Encoder) Object(page uint64, id codec.ID, packed []byte) {
	e.add(page, newRecord(page, id, len(packed)))
	e.payload = append(e.payload, packed...)
}

// Word adds a page of the block that a word fills.
func (e *Encoder) Word(page, word uint64) {
	e.add(page, newRecord(page, codec.None, wordSize))
	e.payload = binary.LittleEndian.AppendUint64(e.payload, word)
}

func (e *Encoder) add(page uint64, r record) {
	e.records = binary.LittleEndian.AppendUint32(e.records, uint32(r))
	e.end = page + 1
}

// Block returns the block with the pages since Begin; nothing where there are none.
func (e *Encoder) Block() []byte {
	if len(e.records) == 0 {
		return nil
	}
	p := append(e.finished[:0], blockMagic...)
	p = binary.LittleEndian.AppendUint32(p, e.blocks)
	p = binary.LittleEndian.AppendUint64(p, e.first)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(e.records)/recordSize))
	p = binary.LittleEndian.AppendUint32(p, uint32(len(e.payload)))
	p = append(append(p, e.records...), e.payload...)
	e.finished = seal(p)
	e.blocks++
	e.data += uint64(len(e.records) / recordSize)
	return e.note(e.finished)
}

// Trailer returns the trailer, and what it says.
func (e *Encoder) Trailer(oneMoment bool) ([]byte, Trailer) {
	t := Trailer{Blocks: e.blocks, Data: e.data, End: e.end, OneMoment: oneMoment}
	p := append(make([]byte, 0, trailerSize), endMagic...)
	p = binary.LittleEndian.AppendUint32(p, t.Blocks)
	p = binary.LittleEndian.AppendUint64(p, t.Data)
	p = binary.LittleEndian.AppendUint64(p, t.End)
	p = binary.LittleEndian.AppendUint64(p, uint64(e.length+trailerSize))
	flags := uint64(0)
	if oneMoment {
		flags = flagOneMoment
	}
	p = binary.LittleEndian.AppendUint64(p, flags)
	e.note(p)
	e.sum.Sum(t.Digest[:0])
	return seal(append(p, t.Digest[:]...)), t
}

// note counts a part.
func (e *Encoder) note(p []byte) []byte {
	_, _ = e.sum.Write(p) // never fails
	e.length += int64(len(p))
	return p
}
