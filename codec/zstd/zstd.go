// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"errors"
	"fmt"
)

// MaxSize is the largest number of bytes that one object can stand for: a page.
const MaxSize = 4096

// MaxObject is the size in bytes of a destination that the object of any buffer of up to [MaxSize]
// bytes fits in: a buffer that does not compress becomes a raw block, as long as itself, behind the
// block header.
const MaxObject = MaxSize + blockHeaderSize

// The levels that [NewEncoder] takes, those of the C library that need no long window.
const (
	MinLevel = 1
	MaxLevel = 19
)

var (
	// ErrSize reports a buffer to compress, or to decompress into, that is empty or larger than
	// [MaxSize].
	ErrSize = errors.New("buffer is not of 1 to 4096 bytes")
	// ErrLevel reports a compression level outside [MinLevel] to [MaxLevel].
	ErrLevel = errors.New("zstd levels are 1 to 19")
	// ErrCorrupt reports an object that is no Zstandard block, or one of another length than the
	// buffer asked for.
	ErrCorrupt = errors.New("corrupt zstd block")
	// errPanic reports that the library panicked.
	errPanic = errors.New("zstd library panicked")
)

// contain turns a panic of the library into an error. It must be deferred directly. The library's
// authors mean none of their panics to be reachable, but here one would end the process that holds
// all swapped pages; an error costs one page's request, and the kernel keeps a page whose write
// failed.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPanic, r)
	}
}
