// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// MaxDictionary is the largest size in bytes of a dictionary, a little above what zstd --train
// makes by default: all of it lies in the locked memory of each worker, several times over.
const MaxDictionary = 112 << 10

// ErrDictionary reports bytes that are no dictionary, a dictionary that is too large, or an object
// of one where there is none.
var ErrDictionary = errors.New("bad dictionary")

// A Dictionary is what pages have in common, in the format that zstd --train writes (RFC 8878,
// section 5): tables for the entropy coders and content to refer to. It is immutable and may be
// used by any number of goroutines.
type Dictionary struct {
	data []byte // immutable
	id   uint32 // of the format, not 0
	mark uint32 // 24 bits that tell dictionaries apart, see seal
}

// NewDictionary reads a dictionary. Bytes that are none and more than [MaxDictionary] of them are
// an error that wraps [ErrDictionary]. It keeps a copy.
func NewDictionary(data []byte) (d *Dictionary, err error) {
	defer contain(&err)
	if len(data) > MaxDictionary {
		return nil, fmt.Errorf("%w: it has more than the %d bytes allowed", ErrDictionary, MaxDictionary)
	}
	info, err := zstd.InspectDictionary(data)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not in the format of zstd --train: %w", ErrDictionary, err)
	}
	sum := sha256.Sum256(data)
	d = &Dictionary{
		data: append([]byte(nil), data...),
		id:   info.ID(),
		mark: uint32(sum[0]) | uint32(sum[1])<<8 | uint32(sum[2])<<16,
	}
	return d, nil
}

// ID returns the number that the dictionary carries by its format. The program
// that trained the dictionary chose it, often at random; it is not 0.
func (d *Dictionary) ID() uint32 { return d.id }

// Size returns the length of the dictionary in bytes.
func (d *Dictionary) Size() int { return len(d.data) }

// Bytes returns a copy of the dictionary, which NewDictionary makes it of again.
func (d *Dictionary) Bytes() []byte { return append([]byte(nil), d.data...) }

// seal changes the block header of an object in place, and changes it back the second time. Without
// a word to spare it makes the object refuse any other dictionary: what that makes of the header
// does not fit the object's length, but for 4 in 2^24 pairs of dictionaries. Nothing else would
// notice, since with another dictionary a block decompresses to another page.
func (d *Dictionary) seal(object []byte) {
	object[0] ^= byte(d.mark)
	object[1] ^= byte(d.mark >> 8)
	object[2] ^= byte(d.mark >> 16)
}

// headerSize returns the length of the header that the library gives a frame of n bytes.
func (d *Dictionary) headerSize(n int) int {
	size := frameHeaderSize(n)
	switch {
	case d == nil:
		return size
	case d.id < 1<<8:
		return size + 1
	case d.id < 1<<16:
		return size + 2
	default:
		return size + dictionaryIDSize
	}
}
