// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"

	"github.com/zramfs/zramfs/codec"
)

// WrittenBack is the codec of a stub: the object of a page whose bytes lie on the backing device.
// It differs in two bits at least from the kinds of entry that own no object.
const WrittenBack codec.ID = 27

// StubSize is the length of a stub's payload, in bytes.
const StubSize = 32

// A Stub says where the object of a written-back page lies, and proves it.
type Stub struct {
	Serial uint64   // of the encryption, unique for the key; from 1
	Tag    [16]byte // of the encrypted block
	Block  uint32   // of the backing device, PageSize each
	Length uint16   // of the object, in bytes
	Codec  codec.ID // of the object
}

// Append appends the StubSize bytes of a stub to p.
func (s *Stub) Append(p []byte) []byte {
	p = binary.LittleEndian.AppendUint64(p, s.Serial)
	p = append(p, s.Tag[:]...)
	p = binary.LittleEndian.AppendUint32(p, s.Block)
	p = binary.LittleEndian.AppendUint16(p, s.Length)
	return append(p, byte(s.Codec), 0)
}

// DecodeStub is the stub that Append has made of p, and whether p can be one.
func DecodeStub(p []byte) (s Stub, ok bool) {
	if len(p) != StubSize {
		return s, false
	}
	s.Serial = binary.LittleEndian.Uint64(p)
	copy(s.Tag[:], p[8:])
	s.Block, s.Length = binary.LittleEndian.Uint32(p[24:]), binary.LittleEndian.Uint16(p[28:])
	s.Codec = codec.ID(p[30])
	return s, s.Serial != 0 && s.Length > 0 && s.Length <= PageSize && p[31] == 0
}
