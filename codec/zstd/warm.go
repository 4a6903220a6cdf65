// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The library makes a buffer when data first needs it and a larger one when other data needs more.
// The pages here need the most of each, so an encoder or decoder that has seen them is complete.

// warm has the encoder make its buffers.
func (e *Encoder) warm() error { return warm(e.enc, e.scratch, MaxSize) }

// warm has the library's encoder make its buffers for inputs of size bytes.
func warm(enc *zstd.Encoder, scratch []byte, size int) (err error) {
	defer contain(&err)
	for _, page := range warmPages(size) {
		enc.EncodeAll(page, scratch)
	}
	// An encoder's list of sequences grows by steps, and a page with its at most 1024 sequences of
	// 4 bytes each just fits in the step that 640 sequences take it to: more than words of 6 bytes,
	// the shortest that every level finds, make of one page. So it takes one and a half.
	enc.EncodeAll(wordPage(source(), size*3/2, 6), scratch)
	return nil
}

// warm has the decoder make its buffers. The last warm page uses every table, and the library's
// decoder keeps the tables of its latest frame to itself, so the next decoder that is made gets
// others.
func (d *Decoder) warm() error {
	objects, err := warmObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if _, err := d.decode(object, MaxSize, nil); err != nil {
			return err
		}
	}
	return nil
}

// warmObjects returns the objects of the warm pages, made once a process: the encoder that
// this takes is several times the size of a decoder.
var warmObjects = sync.OnceValues(func() ([][]byte, error) {
	enc, err := NewEncoder(MinLevel)
	if err != nil {
		return nil, err
	}
	var objects [][]byte
	for i, page := range warmPages(MaxSize) {
		object := make([]byte, MaxObject)
		n, err := enc.Compress(object, page)
		if err != nil {
			return nil, fmt.Errorf("warm page %d: %w", i, err)
		}
		objects = append(objects, object[:n:n])
	}
	return objects, nil
})

// source returns the random numbers of the warm pages, which are always the same.
func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// warmPages returns pages of a size that fill the library's buffers; the last one uses all tables
// of a decoder.
func warmPages(size int) [][]byte {
	rng := source()
	single := singleMatchPage(rng, size)
	return [][]byte{
		literalPage(rng, size),
		unevenPage(rng, size),
		// An encoder has two sets of sequence tables and changes between them at every block.
		single, single,
		recordPage(rng, size),
	}
}

// randomPage returns a page that cannot be compressed.
func randomPage(rng *rand.Rand, size int) []byte {
	page := make([]byte, 0, size)
	for len(page) < size {
		page = binary.LittleEndian.AppendUint64(page, rng.Uint64())
	}
	return page
}

// literalPage returns a page that is all Huffman-coded literals: 64 values in any order, which
// repeat nothing.
func literalPage(rng *rand.Rand, size int) []byte {
	page := make([]byte, size)
	for i := range page {
		page[i] = byte(rng.IntN(64))
	}
	return page
}

// unevenPage returns a page that is coded in full and found to be longer than it was: random, but
// for one value that occurs just often enough for an attempt.
func unevenPage(rng *rand.Rand, size int) []byte {
	page := randomPage(rng, size)
	for i := 0; i < size; i += 64 {
		page[i] = 0
	}
	return page
}

// singleMatchPage returns a page with one sequence, for which the library makes the largest
// sequence tables.
func singleMatchPage(rng *rand.Rand, size int) []byte {
	page := randomPage(rng, size)
	copy(page[size/2:], page)
	return page
}

// wordPage returns n bytes of words of a length, from a list of 64 in an order that makes
// neighbours match no further: each is a sequence.
func wordPage(rng *rand.Rand, n, length int) []byte {
	const words = 64
	list := randomPage(rng, words*length)
	page := make([]byte, 0, n+length)
	for len(page) < n {
		at := rng.IntN(words) * length
		page = append(page, list[at:at+length]...)
	}
	return page[:n]
}

// recordPage returns what looks like an array of structures, the commonest kind of page: its
// literals are worth a Huffman table and its lengths and distances a table each.
func recordPage(rng *rand.Rand, size int) []byte {
	names := randomPage(rng, 2048)
	page := make([]byte, 0, size+64)
	for i := uint32(0); len(page) < size; i++ {
		page = binary.LittleEndian.AppendUint64(page, 0x00007f3a_5c000000|uint64(rng.IntN(1<<12))<<4)
		page = binary.LittleEndian.AppendUint32(page, i)
		page = binary.LittleEndian.AppendUint32(page, uint32(rng.IntN(200)))
		at := rng.IntN(64) * 16
		page = append(page, names[at:at+2+rng.IntN(12)]...)
		page = append(page, make([]byte, rng.IntN(9))...)
	}
	return page[:size]
}
