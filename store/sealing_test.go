// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// A block opens for the page, place, encryption, length and codec that it was sealed for, and no
// other.
func TestSealBinds(t *testing.T) {
	c, err := newSealer(make([]byte, secretKey))
	if err != nil {
		t.Fatal(err)
	}
	sealed, plain := make([]byte, sealedSize), []byte("an object")
	st := image.Stub{Serial: 7, Block: 3, Length: uint16(len(plain)), Codec: codec.LZ4}
	copy(sealed, plain)
	c.seal(sealed, 5, &st)
	for name, change := range map[string]func(st *image.Stub) (page uint64){
		"none":   func(*image.Stub) uint64 { return 5 },
		"page":   func(*image.Stub) uint64 { return 6 },
		"block":  func(st *image.Stub) uint64 { st.Block++; return 5 },
		"serial": func(st *image.Stub) uint64 { st.Serial++; return 5 },
		"length": func(st *image.Stub) uint64 { st.Length--; return 5 },
		"codec":  func(st *image.Stub) uint64 { st.Codec++; return 5 },
		"tag":    func(st *image.Stub) uint64 { st.Tag[15] ^= 1; return 5 },
	} {
		other := st
		page := change(&other)
		got, err := c.open(bytes.Clone(sealed), page, &other)
		if opens := err == nil && bytes.Equal(got, plain); opens != (name == "none") || !opens && !errors.Is(err, ErrCorrupt) {
			t.Errorf("with another %s: %q, %v", name, got, err)
		}
	}
}
