// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A sealer encrypts and authenticates blocks of the backing device by AES-256-GCM. A block is good
// for one page, one place on the device and one serial number only, which the stub in the image
// names: a block that was damaged, that belongs elsewhere, or that is an older one of the same page
// does not open. The serial number is the nonce, and Secret never gives one twice.
//
// A sealer belongs to one goroutine. It allocates nothing once it was made.
type sealer struct {
	aead  cipher.AEAD
	nonce [12]byte // the serial number behind zeros
	bound [27]byte // page, block, serial number, length and codec
}

// sealedSize is what a block takes in the buffer where it is sealed or opened, in bytes: the tag
// lies behind the block.
const sealedSize = PageSize + len(image.Stub{}.Tag)

func newSealer(key []byte) (*sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return &sealer{aead: aead}, nil
}

// bind sets what an opened block has to agree with.
func (c *sealer) bind(page uint64, st *image.Stub) {
	binary.BigEndian.PutUint64(c.nonce[4:], st.Serial)
	binary.LittleEndian.PutUint64(c.bound[:], page)
	binary.LittleEndian.PutUint64(c.bound[8:], uint64(st.Block))
	binary.LittleEndian.PutUint64(c.bound[16:], st.Serial)
	binary.LittleEndian.PutUint16(c.bound[24:], st.Length)
	c.bound[26] = byte(st.Codec)
}

// seal encrypts the object of a page in place, where p has sealedSize bytes and the object is at
// its beginning, and completes the stub with the tag.
func (c *sealer) seal(p []byte, page uint64, st *image.Stub) {
	clear(p[st.Length:PageSize])
	c.bind(page, st)
	c.aead.Seal(p[:0], c.nonce[:], p[:PageSize], c.bound[:])
	copy(st.Tag[:], p[PageSize:])
}

// errOverwritten is the ErrCorrupt of open.
var errOverwritten = fmt.Errorf("%w: backing device: it is not what was written there", ErrCorrupt)

// open decrypts a block in place, where p has sealedSize bytes and the block is at its beginning,
// and returns the object. It fails with ErrCorrupt if the block is not the one that the stub of
// page names.
func (c *sealer) open(p []byte, page uint64, st *image.Stub) ([]byte, error) {
	c.bind(page, st)
	copy(p[PageSize:sealedSize], st.Tag[:])
	if _, err := c.aead.Open(p[:0], c.nonce[:], p[:sealedSize], c.bound[:]); err != nil {
		return nil, fmt.Errorf("%w: page %d: block %d", errOverwritten, page, st.Block)
	}
	return p[:st.Length], nil
}
