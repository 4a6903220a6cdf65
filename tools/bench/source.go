// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/pagescan"
)

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stampAt is where a page carries its number: in its last bytes, which cost next to
// nothing when it is compressed.
const (
	stampSize = 4
	stampAt   = codec.PageSize - stampSize
)

// A source makes the pages of the load: the pool's pages in their order, again and again, since
// neighbours in memory are alike and a device may make use of that. Each page contains its number,
// so that a page in the place of another is detected; only pages of one repeated word have none,
// since it would change their kind. It belongs to one goroutine.
type source struct {
	pool []byte
	// sums are the checksums of the pool's pages: of all of a same-filled one, of
	// what lies before the stamp of another.
	sums  []uint32
	same  []bool
	stamp [stampSize]byte // scratch
}

func newSource(pool []byte) *source {
	s := &source{pool: pool}
	for at := 0; at < len(pool); at += codec.PageSize {
		page := pool[at : at+codec.PageSize]
		_, same := pagescan.SameFilled(page)
		if !same {
			page = page[:stampAt]
		}
		s.sums = append(s.sums, crc32.Checksum(page, castagnoli))
		s.same = append(s.same, same)
	}
	return s
}

// write puts what page number holds into dst.
func (s *source) write(dst []byte, number int) {
	from := number % len(s.sums)
	copy(dst, s.pool[from*codec.PageSize:(from+1)*codec.PageSize])
	if !s.same[from] {
		binary.LittleEndian.PutUint32(dst[stampAt:], uint32(number))
	}
}

// first returns the first byte of page number.
func (s *source) first(number int) byte { return s.pool[number%len(s.sums)*codec.PageSize] }

// holds tells whether memory has what page number holds.
func (s *source) holds(memory []byte, number int) bool {
	from := number % len(s.sums)
	want := s.sums[from]
	if !s.same[from] {
		binary.LittleEndian.PutUint32(s.stamp[:], uint32(number))
		want = crc32.Update(want, castagnoli, s.stamp[:])
	}
	return crc32.Checksum(memory, castagnoli) == want
}
