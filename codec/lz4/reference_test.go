// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/zramfs/zramfs/codec/internal/impl"
)

// A verdict is what the reference says of a block.
type verdict int

const (
	broken    verdict = iota
	unended           // it is right but for its end, which is a match; the other library takes that
	overended         // right, but the last token has the length of a missing match; the other library refuses it
	valid
)

// A blockReader reads the fields of a block; ok turns false where they end too early.
type blockReader struct {
	rest []byte
	ok   bool
}

func (r *blockReader) byte() int {
	if len(r.rest) == 0 {
		r.ok = false
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return int(b)
}

// length reads what goes on a length whose half of the token is given.
func (r *blockReader) length(n int) int {
	for more := n == 15; more && r.ok; {
		b := r.byte()
		n, more = n+b, b == 255
	}
	return n
}

// referenceDecode reads a block byte by byte, as the format's description goes, and fills dst from
// it. It shares nothing with the decoders that it judges.
func referenceDecode(dst, src []byte) verdict {
	var out []byte
	r := blockReader{src, true}
	for len(r.rest) > 0 {
		token := r.byte()
		literals := r.length(token >> 4)
		if !r.ok || literals > len(r.rest) {
			return broken
		}
		out, r.rest = append(out, r.rest[:literals]...), r.rest[literals:]
		if len(r.rest) == 0 && len(out) == len(dst) {
			copy(dst, out)
			return map[bool]verdict{true: valid, false: overended}[token&15 == 0]
		}
		distance := r.byte() | r.byte()<<8
		match := r.length(token&15) + 4
		if !r.ok || distance == 0 || distance > len(out) || len(out)+match > len(dst) {
			return broken
		}
		for range match {
			out = append(out, out[len(out)-distance])
		}
	}
	return map[bool]verdict{true: unended, false: broken}[len(out) == len(dst)]
}

// pierrecDecode is the decoder of another library.
func pierrecDecode(dst, src []byte) bool {
	n, err := lz4.UncompressBlock(src, dst)
	return err == nil && n == len(dst)
}

// judge fails the test unless all our decoders say of the block src what the reference does, with
// the same bytes, and the other library as well where it is of one mind with the format.
func judge(t *testing.T, size int, src []byte) verdict {
	t.Helper()
	want, got := make([]byte, size), make([]byte, size)
	v := referenceDecode(want, src)
	taken := v >= overended
	for _, e := range routinesTable {
		if !impl.Has(e.Set) {
			continue
		}
		if e.F.decode(got, src) != taken || taken && !bytes.Equal(got, want) {
			t.Fatalf("%s: otherwise than the reference, which says %d, or other bytes: %d bytes from %d: %.60x", e.Set, v, size, len(src), src)
		}
	}
	if v != unended && v != overended && (pierrecDecode(got, src) != taken || taken && !bytes.Equal(got, want)) {
		t.Fatalf("pierrec/lz4: otherwise than the reference, which says %d, or other bytes: %d bytes from %d: %.60x", v, size, len(src), src)
	}
	return v
}

// madeBlock returns a block of sequences whose every field is drawn, mostly a valid one, and the
// number of bytes that it stands for.
func madeBlock(seed uint64) (object []byte, size int) {
	rng := rand.New(rand.NewPCG(seed, 14))
	limit := 1 + rng.IntN(MaxSize)
	for {
		literals, match := lengthOf(rng), 4+lengthOf(rng)
		if size+literals+match > limit-5 || rng.IntN(40) == 0 {
			literals = min(limit-size, 5+rng.IntN(40))
			object, size = putLiterals(object, literals, rng.IntN(32)/30, rng), size+literals
			break
		}
		object, size = putLiterals(object, literals, match-4, rng), size+literals
		distance := 1 + rng.IntN(max(size, 1))
		if rng.IntN(2) == 0 {
			distance = 1 + rng.IntN(min(max(size, 1), 40))
		}
		object = append(object, byte(distance), byte(distance>>8))
		object = putLength(object, match-4)
		size += match
	}
	if rng.IntN(4) == 0 {
		object[rng.IntN(len(object))] = []byte{0, 1, 15, 16, 0xF0, 0xFF, byte(rng.Uint32())}[rng.IntN(7)]
	}
	if rng.IntN(8) == 0 {
		size = min(max(size+rng.IntN(41)-20, 1), MaxSize)
	}
	return object, size
}

// lengthOf draws a length, a short one mostly.
func lengthOf(rng *rand.Rand) int {
	return rng.IntN([]int{2, 4, 16, 20, 20, 300, 1000}[rng.IntN(7)])
}

func putLiterals(object []byte, literals, match int, rng *rand.Rand) []byte {
	object = append(object, byte(min(literals, 15)<<4|min(match, 15)))
	object = putLength(object, literals)
	for range literals {
		object = append(object, byte(rng.Uint32()))
	}
	return object
}

func putLength(object []byte, n int) []byte {
	if n < 15 {
		return object
	}
	for n -= 15; n >= 255; n -= 255 {
		object = append(object, 255)
	}
	return append(object, byte(n))
}
