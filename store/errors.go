// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// ErrorCount says how often an error of one kind has occurred since the image was created, and
// when it first and last did. The times are zero where it never did.
type ErrorCount struct {
	Count       uint64
	First, Last time.Time
}

// An errorKind is a kind of error that the image keeps an account of. Its numbers are part of
// the layout.
type errorKind int

const (
	checksumError   errorKind = iota // an object, entry or word that is not what was stored
	failedRead                       // a read that ended in an error
	failedWrite                      // a write that ended in an error, ErrFull included
	failedWriteback                  // a write to the backing device that ended in an error
)

// errorLog counts errors in the image, so that the account survives the worker.
type errorLog struct {
	words []atomic.Uint64 // immutable view of the image
}

// note counts an error that occurs now. It neither blocks nor allocates.
func (l errorLog) note(kind errorKind) {
	words, now := l.words[kind*image.ErrorWords:], uint64(time.Now().UnixNano())
	words[2].Store(now)
	words[1].CompareAndSwap(0, now)
	words[0].Add(1)
}

// of is the account of one kind. An error that occurs during the call may be counted in part.
func (l errorLog) of(kind errorKind) ErrorCount {
	words := l.words[kind*image.ErrorWords:]
	return ErrorCount{Count: words[0].Load(), First: timeOf(words[1].Load()), Last: timeOf(words[2].Load())}
}

func timeOf(nanoseconds uint64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(nanoseconds)).UTC() // local time would read a file
}
