// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Superblock returns a copy of what names the image in m and says how it is laid out. Without it no
// process can open the image; RestoreSuperblock writes it back.
func (m *Memory) Superblock() ([]byte, error) {
	b := make([]byte, binary.Size(image.Superblock{}))
	if err := m.readAt(b, 0); err != nil {
		return nil, fmt.Errorf("read superblock: %w", err)
	}
	if _, err := image.DecodeSuperblock(b); err != nil {
		return nil, err
	}
	return b, nil
}

// RestoreSuperblock writes a copy back where the image has something else, and reports whether that
// was so. It changes nothing where the image does not have the size that the copy says: then it is
// another image. It is safe while the image is in use.
func (m *Memory) RestoreSuperblock(kept []byte) (restored bool, err error) {
	b, err := image.DecodeSuperblock(kept)
	if err != nil {
		return false, err
	}
	now := make([]byte, len(kept))
	if err := m.readAt(now, 0); err != nil {
		return false, fmt.Errorf("read superblock: %w", err)
	}
	if bytes.Equal(now, kept) {
		return false, nil
	}
	length, err := m.length()
	if err != nil {
		return false, err
	}
	if want := b.Geometry().Size; length != want {
		return false, fmt.Errorf("%w: the image has %d bytes, and its superblock said %d", ErrGeometry, length, want)
	}
	if err := m.writeAt(kept, 0); err != nil {
		return false, fmt.Errorf("write superblock: %w", err)
	}
	return true, nil
}
