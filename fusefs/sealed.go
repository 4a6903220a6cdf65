// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/zramfs/zramfs/internal/killpoint"
)

// A request that a process leaves to its successor is sealed: a checksum over its header and
// argument, which say what to do with which page, and another over what was applied. Without them a
// flipped bit would send a page to another place, carry the request before once more, or take a
// request for applied that was not. The kernel gives no checksum of a write's data.

// sealedSize is how much of a request the seal covers: what it says, but for the data of a write.
const sealedSize = inHeaderSize + argumentSize

// A found is what a successor finds in a slot.
type slotState int

const (
	foundNothing slotState = iota
	foundRequest
	foundDamage
)

// seal proves the request that was received in the slot. A process that dies before it leaves a
// request without a seal.
func (s *slot) seal(m message) {
	s.words[wordSum].Store(sumOf(m))
	s.words[wordSealed].Store(m.unique())
}

// sumOf is the checksum of a request, without its number.
func sumOf(m message) uint64 {
	m = m[:min(len(m), sealedSize)]
	sum := crc32.Update(crc32.Checksum(m[:uniqueOffset], castagnoli), castagnoli, m[uniqueOffset+8:])
	return uint64(sum)
}

// inspect reports what a predecessor has left in the slot. A slot without a seal is free, holds a
// request that was never sealed, or is a free one with a flipped bit in its number: it has no
// length.
func (s *slot) inspect() slotState {
	number, sealed := s.unique.Load(), s.words[wordSealed].Load()
	m := message(s.room())
	length := binary.LittleEndian.Uint32(m)
	whole := length >= inHeaderSize && uint64(length) <= uint64(len(m))
	summed := whole && s.words[wordSum].Load() == sumOf(m[:length])
	switch {
	case number == 0 && sealed == 0:
		return foundNothing
	case sealed == 0 && whole:
		return foundRequest
	case sealed != number || !summed:
		return foundDamage
	case s.words[wordApplied].Load() == number && s.words[wordAppliedSum].Load() != s.appliedSum(number):
		return foundDamage
	}
	return foundRequest
}

// apply records that the request's changes are done, and its answer: a count of bytes, or a
// negative error number.
func (s *slot) apply(unique uint64, result int64) {
	s.words[wordResult].Store(uint64(result))
	killpoint.At("result noted")
	s.words[wordAppliedSum].Store(s.appliedSum(unique))
	killpoint.At("result sealed")
	s.words[wordApplied].Store(unique)
}

// appliedSum is a check over the number of an applied request and its answer: each bit of either
// changes it.
func (s *slot) appliedSum(unique uint64) uint64 {
	return ^(unique*0x9E3779B97F4A7C15 ^ s.words[wordResult].Load()*0xC2B2AE3D27D4EB4F)
}

// applied reports whether the request in the slot was applied, and its answer.
func (s *slot) applied() (result int64, ok bool) {
	number := s.unique.Load()
	ok = s.words[wordApplied].Load() == number || s.words[wordSealed].Load() == number && s.words[wordAppliedSum].Load() == s.appliedSum(number)
	return int64(s.words[wordResult].Load()), ok
}

// free empties the slot. A process that dies before the last store has answered.
func (s *slot) free() {
	s.unique.Store(0)
	binary.LittleEndian.PutUint32(s.room(), 0)
	s.words[wordSealed].Store(0)
}
