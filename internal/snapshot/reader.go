// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/zramfs/zramfs/codec"
)

// A Reader reads a snapshot from its beginning to its end and checks all of it. Each block is valid
// until the next call. One goroutine uses it.
type Reader struct {
	// Header says what was saved.
	Header Header
	// Trailer is valid once Next has returned io.EOF.
	Trailer Trailer

	from   io.ReaderAt
	size   int64     // of the file
	at     int64     // of the next part
	page   uint64    // no block so far has this page or a later one
	data   uint64    // pages of the blocks so far
	end    uint64    // the page behind the last of them
	sum    hash.Hash // of the parts so far
	block  Block
	buffer []byte
}

// A Block is a block of a snapshot.
type Block struct {
	// Offset is where the block begins in the file.
	Offset int64
	// Number is the number of blocks before it.
	Number uint32
	// First is its first page, a multiple of BlockPages.
	First uint64
	// Page has the numbers in the block of its pages with data, in ascending order. ID, At and
	// Length have as many.
	Page []uint32
	// ID is the codec of each page's object; codec.None for a page that Word describes.
	ID []codec.ID
	// At and Length say where the object lies: Data[At:][:Length].
	At     []uint64
	Length []uint32
	// Data has the objects and words.
	Data []byte
}

// Object returns the object, or the word in 8 bytes, of a block's i-th page with data.
func (b *Block) Object(i int) []byte { return b.Data[b.At[i]:][:b.Length[i]] }

// ObjectOffset is where that begins in the file.
func (b *Block) ObjectOffset(i int) int64 {
	return b.Offset + blockSize + recordSize*int64(len(b.Page)) + int64(b.At[i])
}

// Word returns the word that fills a block's i-th page with data; only for one with codec.None.
func (b *Block) Word(i int) uint64 { return binary.LittleEndian.Uint64(b.Object(i)) }

// NewReader reads the header of a snapshot of size bytes. Its errors are ErrNoSnapshot,
// VersionError, DamageError, and those of from.
func NewReader(from io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{from: from, size: size, sum: sha256.New()}
	if size < headerSize {
		return nil, ErrNoSnapshot
	}
	p, err := r.read(headerSize)
	if err != nil {
		return nil, err
	}
	if string(p[:8]) != magic {
		return nil, ErrNoSnapshot
	}
	if v := binary.LittleEndian.Uint32(p[8:]); v != Version {
		return nil, VersionError(v)
	}
	name, dictionary := binary.LittleEndian.Uint32(p[24:]), binary.LittleEndian.Uint32(p[28:])
	n := headerSize + int64(name) + int64(dictionary) + sumSize
	if name > maxName || dictionary > codec.MaxDictionary || n != int64(binary.LittleEndian.Uint32(p[12:])) {
		return nil, r.damaged("the lengths in the header are wrong")
	}
	if p, err = r.whole("header", n); err != nil {
		return nil, err
	}
	texts := bytes.Clone(p[headerSize : n-sumSize])
	r.Header = Header{binary.LittleEndian.Uint64(p[16:]), string(texts[:name]), texts[name:]}
	if err := r.Header.check(); err != nil {
		return nil, r.damaged(err.Error())
	}
	r.pass(p)
	return r, nil
}

// Offset is where the next part begins.
func (r *Reader) Offset() int64 { return r.at }

// Next returns the next block. After the last it has checked the trailer and returns io.EOF. Its
// other errors are DamageError, and those of the file.
func (r *Reader) Next() (*Block, error) {
	p, err := r.read(blockSize)
	if err != nil {
		return nil, err
	}
	switch string(p[:4]) {
	case blockMagic:
		return r.next(p)
	case endMagic:
		return nil, r.finish()
	}
	return nil, r.damaged("neither a block nor the end begins here")
}

// next reads a block whose beginning is p.
func (r *Reader) next(p []byte) (*Block, error) {
	b := &r.block
	n, length := binary.LittleEndian.Uint32(p[16:]), binary.LittleEndian.Uint32(p[20:])
	if n == 0 || n > BlockPages || length > n*codec.PageSize {
		return nil, r.damaged("the lengths of the block are wrong")
	}
	p, err := r.whole("block", int64(blockSize+n*recordSize+length+sumSize))
	if err != nil {
		return nil, err
	}
	b.Offset, b.Number, b.First = r.at, binary.LittleEndian.Uint32(p[4:]), binary.LittleEndian.Uint64(p[8:])
	if b.Number != r.Trailer.Blocks {
		return nil, r.damaged(fmt.Sprintf("block %d is here in place of block %d", b.Number, r.Trailer.Blocks))
	}
	if b.First%BlockPages != 0 || b.First < r.page || b.First >= r.Header.Pages {
		return nil, r.damaged(fmt.Sprintf("block of page %d of %d", b.First, r.Header.Pages))
	}
	records := p[blockSize:][:n*recordSize]
	b.Data = p[blockSize+len(records):][:length]
	if err := r.records(records); err != nil {
		return nil, err
	}
	r.pass(p)
	r.Trailer.Blocks++
	r.data += uint64(n)
	r.end, r.page = b.First+uint64(b.Page[n-1])+1, b.First+BlockPages
	return b, nil
}

// records decodes the records of the block.
func (r *Reader) records(p []byte) error {
	b, at := &r.block, uint64(0)
	b.Page, b.ID, b.At, b.Length = b.Page[:0], b.ID[:0], b.At[:0], b.Length[:0]
	for i := 0; i < len(p); i += recordSize {
		rec := record(binary.LittleEndian.Uint32(p[i:]))
		page := rec.page()
		switch {
		case i > 0 && page <= b.Page[len(b.Page)-1]:
			return r.damaged("the pages of the block are not in order")
		case b.First+uint64(page) >= r.Header.Pages:
			return r.damaged(fmt.Sprintf("page %d of %d", b.First+uint64(page), r.Header.Pages))
		case !rec.valid():
			return r.damaged(fmt.Sprintf("page %d has %d bytes of codec %s in record %#x", b.First+uint64(page), rec.length(), rec.id(), uint32(rec)))
		}
		b.Page, b.ID = append(b.Page, page), append(b.ID, rec.id())
		b.At, b.Length = append(b.At, at), append(b.Length, uint32(rec.length()))
		at += uint64(rec.length())
	}
	if at != uint64(len(b.Data)) {
		return r.damaged("the objects of the block are not as long as all of it")
	}
	return nil
}

// finish checks the trailer.
func (r *Reader) finish() error {
	p, err := r.whole("end", trailerSize)
	if err != nil {
		return err
	}
	t := &r.Trailer
	flags := binary.LittleEndian.Uint64(p[32:])
	if binary.LittleEndian.Uint32(p[4:]) != t.Blocks || binary.LittleEndian.Uint64(p[8:]) != r.data || binary.LittleEndian.Uint64(p[16:]) != r.end || flags > flagOneMoment {
		return r.damaged("the end does not agree with the blocks")
	}
	if length := int64(binary.LittleEndian.Uint64(p[24:])); length != r.size || r.at+trailerSize != r.size {
		return r.damaged(fmt.Sprintf("the file has %d bytes, and its end says %d", r.size, length))
	}
	_, _ = r.sum.Write(p[:digestAt]) // never fails
	if !bytes.Equal(r.sum.Sum(nil), p[digestAt:trailerSize-sumSize]) {
		return r.damaged("the checksum of the whole is wrong, and those of all blocks are right")
	}
	t.Data, t.End, t.OneMoment = r.data, r.end, flags == flagOneMoment
	copy(t.Digest[:], p[digestAt:])
	return io.EOF
}

// read returns the next n bytes without passing them.
func (r *Reader) read(n int64) ([]byte, error) {
	if n > r.size-r.at {
		return nil, r.damaged(fmt.Sprintf("the file ends at offset %d, before the end of the snapshot", r.size))
	}
	if int64(cap(r.buffer)) < n {
		r.buffer = make([]byte, n)
	}
	p := r.buffer[:n]
	if got, err := r.from.ReadAt(p, r.at); int64(got) < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the file became shorter
		}
		return nil, fmt.Errorf("read at offset %d: %w", r.at, err)
	}
	return p, nil
}

// whole returns the next n bytes, what, proved by their checksum.
func (r *Reader) whole(what string, n int64) ([]byte, error) {
	p, err := r.read(n)
	if err == nil && !sealed(p) {
		err = r.damaged("the checksum of the " + what + " is wrong")
	}
	return p, err
}

// pass goes on behind a part.
func (r *Reader) pass(p []byte) {
	_, _ = r.sum.Write(p) // never fails
	r.at += int64(len(p))
}

func (r *Reader) damaged(what string) error { return &DamageError{r.at, r.page, what} }
