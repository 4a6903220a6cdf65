// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// A command hands pages to the worker in a batch of records, one behind the other, little-endian:
//
//	8  number of the page, of the first one for zeros
//	4  store.Seal of an object
//	2  length of the payload, bytes
//	1  codec.ID of an object
//	1  kind
//	.. payload
//
// The worker trusts no field: the command may have a defect.
const (
	recordHeader = 16

	recordObject = 1 // the payload is the page's object
	recordWord   = 2 // the payload is the word that fills the page
	recordZeros  = 3 // the payload is the number of pages that hold nothing

	// importBatch is the size of the largest batch, in bytes.
	importBatch = 1 << 20
)

// errRecord means that a batch cannot be read.
var errRecord = errors.New("malformed record")

// A record is one page of a batch, or several of zeros.
type record struct {
	page     uint64
	checksum uint32
	id       codec.ID
	kind     byte
	payload  []byte
}

func appendRecord(to []byte, r record) []byte {
	to = binary.LittleEndian.AppendUint64(to, r.page)
	to = binary.LittleEndian.AppendUint32(to, r.checksum)
	to = binary.LittleEndian.AppendUint16(to, uint16(len(r.payload)))
	to = append(to, byte(r.id), r.kind)
	return append(to, r.payload...)
}

// cutRecord reads the first record of a batch and returns the rest. The payload aliases the batch.
func cutRecord(from []byte) (r record, rest []byte, err error) {
	if len(from) < recordHeader {
		return r, nil, errRecord
	}
	n := int(binary.LittleEndian.Uint16(from[12:]))
	if n > len(from)-recordHeader {
		return r, nil, errRecord
	}
	r = record{
		page: binary.LittleEndian.Uint64(from), checksum: binary.LittleEndian.Uint32(from[8:]), id: codec.ID(from[14]), kind: from[15],
		payload: from[recordHeader : recordHeader+n],
	}
	if r.kind != recordObject && n != 8 {
		return r, nil, errRecord
	}
	return r, from[recordHeader+n:], nil
}

// discardAtOnce is the number of pages that one record discards at most, in less than a
// millisecond.
const discardAtOnce = 2048

// storeRecord stores a page as a write request does; scratch has room for one page.
func storeRecord(s *store.Store, r record, scratch []byte) error {
	w := s.Acquire()
	defer w.Release()
	switch r.kind {
	case recordObject:
		return w.Put(r.page, r.id, r.checksum, r.payload)
	case recordWord:
		for n := copy(scratch, r.payload); n < len(scratch); {
			n += copy(scratch[n:], scratch[:n])
		}
		return w.Write(r.page, 0, scratch)
	case recordZeros:
		w.Discard(r.page, min(discardAtOnce, binary.LittleEndian.Uint64(r.payload)))
		return nil
	}
	return fmt.Errorf("%w: kind %d", errRecord, r.kind)
}

// storeBatch stores the records of a batch. It calls free before each and stops at the first error
// of free or of the store, whose page it returns.
func storeBatch(s *store.Store, batch, scratch []byte, free func() error) (page uint64, err error) {
	for len(batch) > 0 {
		var r record
		if r, batch, err = cutRecord(batch); err != nil {
			return page, err
		}
		page = r.page
		if err := free(); err != nil {
			return page, err
		}
		if err := storeRecord(s, r, scratch); err != nil {
			return page, err
		}
	}
	return 0, nil
}
