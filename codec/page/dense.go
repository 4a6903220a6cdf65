// SPDX-License-Identifier: Apache-2.0

package page

import "fmt"

// denseRoutines is what one instruction set has for the dense level.
type denseRoutines struct {
	parse   parseFunc
	write   writeFunc
	read    readFunc
	decode  decodeFunc
	cluster clusterDecodeFunc
}

// bestDense is this machine's implementation. It is chosen at start and never written again.
var bestDense = denseTable.Best().F

// A DenseEncoder compresses pages to the dense level, one after another. Its objects are shorter by
// a tenth to a fifth than an [Encoder]'s and are for a [DenseDecoder] alone. It keeps buffers
// between calls, but each object depends on its own page alone. It takes 49 KiB. The zero value is
// ready. It is not safe for concurrent use.
type DenseEncoder struct {
	routines *denseRoutines // immutable; nil for the best
	search
	densePacker
}

// NewDenseEncoder makes an encoder for one worker that uses no more than set of this machine's
// instructions, or the best if set is empty: that changes the speed, not the objects. A set that
// may not be used here is an error that wraps [ErrUnavailable].
func NewDenseEncoder(set Set) (*DenseEncoder, error) {
	e, err := denseTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make dense page encoder: %w", err)
	}
	return &DenseEncoder{routines: &e.F}, nil
}

// Compress writes the object of page, of exactly [Size] bytes (else [ErrSize]), to dst and returns
// its length in bytes. The length of dst is the cap on the object, and so is [MaxObject]: where the
// object would be longer, Compress returns 0, and what it left in dst means nothing. Nothing beyond
// len(dst) is written, whatever its capacity. The two buffers must not overlap.
func (e *DenseEncoder) Compress(dst, page []byte) (int, error) {
	if len(page) != Size {
		return 0, fmt.Errorf("compress page of %d bytes: %w", len(page), ErrSize)
	}
	r := e.routines
	if r == nil {
		r = &bestDense
	}
	e.begin(page)
	for r.parse(&e.search) {
		e.emit()
	}
	e.emitLiterals(Size - e.anchor)
	return e.pack(dst, &e.search, r.write), nil
}

// A DenseDecoder brings back what a [DenseEncoder] made. It keeps room to work in between
// calls: 29 KiB. The zero value is ready. It is not safe for concurrent use.
type DenseDecoder struct {
	routines *denseRoutines // immutable; nil for the best
	denseUnpacker
}

// NewDenseDecoder makes a decoder for one worker that uses no more than set, or the best if set is
// empty. A set that may not be used here is an error that wraps [ErrUnavailable].
func NewDenseDecoder(set Set) (*DenseDecoder, error) {
	e, err := denseTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make dense page decoder: %w", err)
	}
	return &DenseDecoder{routines: &e.F}, nil
}

// Decompress fills dst, of exactly [Size] bytes (else [ErrSize]), with the page that object stands
// for. It returns an error that wraps [ErrCorrupt], and leaves anything in dst, when object stands
// for none; it never panics and never writes outside dst, whatever object holds. Damage that makes
// it another page's object passes unnoticed. The two buffers must not overlap.
func (d *DenseDecoder) Decompress(dst, object []byte) error {
	if len(dst) != Size {
		return fmt.Errorf("decompress dense page to %d bytes: %w", len(dst), ErrSize)
	}
	r := d.routines
	if r == nil {
		r = &bestDense
	}
	if s, ok := d.unpack(object, r.read); !ok || !r.decode(dst, s) {
		return fmt.Errorf("decompress dense page object of %d bytes: %w", len(object), ErrCorrupt)
	}
	return nil
}
