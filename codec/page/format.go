// SPDX-License-Identifier: Apache-2.0

package page

import "errors"

// Size is the size in bytes of what one object stands for: a page.
const Size = 4096

// MaxObject is the length in bytes of the longest object: one as long as a page gains nothing, and
// no count in a header can be larger.
const MaxObject = Size - 1

// headerSize is the size in bytes of an object's beginning: 12 bits with the number of literals and
// above them 12 with that of tokens, the low byte first.
const headerSize = 3

// firstReps are the remembered distances before the first token, 16 bits each, the last one in the
// lowest: one byte, and the sizes of the words and small structures that memory is made of.
const firstReps = 1 | 8<<16 | 4<<32 | 16<<48

// Near distances are 1 to nearDense, and from there to maxNear the multiples of nearStep.
const (
	nearDense = 64
	nearStep  = 8
	maxNear   = nearDense + nearStep*(256-nearDense)
)

var (
	// ErrSize reports a buffer to compress, or to decompress into, that is not of [Size] bytes.
	ErrSize = errors.New("buffer is not of 4096 bytes")
	// ErrCorrupt reports an object that stands for no page.
	ErrCorrupt = errors.New("corrupt page object")
)

// nearDistance returns the distance that a near byte stands for.
func nearDistance(b byte) int {
	if b < nearDense {
		return int(b) + 1
	}
	return nearDense + nearStep*(int(b)-nearDense+1)
}

// isNear reports whether a distance of 1 to 4095 bytes has a near byte.
func isNear(distance int) bool {
	return distance <= nearDense || distance <= maxNear && distance%nearStep == 0
}

// nearByte returns the byte of a near distance.
func nearByte(distance int) byte {
	if distance <= nearDense {
		return byte(distance - 1)
	}
	return byte(nearDense - 1 + (distance-nearDense)/nearStep)
}

// An object is split into its streams. The distances are two: near bytes from the front on, and far
// words from the back.
type streams struct {
	literals, distances, tokens []byte
}

// split finds the streams of an object. It reports false if they cannot be there.
func split(object []byte) (s streams, ok bool) {
	if len(object) < headerSize || len(object) > MaxObject {
		return s, false
	}
	counts := int(object[0]) | int(object[1])<<8 | int(object[2])<<16
	literals, tokens := counts&0xfff, counts>>12
	body := object[headerSize:]
	if literals+tokens > len(body) {
		return s, false
	}
	first := len(body) - tokens
	return streams{body[:literals], body[literals:first], body[first:]}, true
}
