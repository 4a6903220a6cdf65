// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// All memory for what is written is taken as Config.Firmly wants it, one piece at a
// time.
func TestMemoryIsTakenFirmly(t *testing.T) {
	var calls, inside, overlapped atomic.Int64
	s := newStore(t, Config{Disksize: 64 << 20, AllocHook: func(take func() error) error {
		calls.Add(1)
		if inside.Add(1) != 1 {
			overlapped.Add(1)
		}
		defer inside.Add(-1)
		return take()
	}})
	for page := range uint32(4 * image.RawPerSegment) {
		write(t, s, uint64(page), content{page, 1, random}.bytes())
	}
	s.passMu.Lock() // what is charged is taken then
	defer s.passMu.Unlock()
	if segments := s.backedBytes() / image.SegmentSize; segments < 4 || calls.Load() < segments || overlapped.Load() != 0 {
		t.Errorf("%d segments have memory after %d calls, of which %d overlapped", segments, calls.Load(), overlapped.Load())
	}
}

// Where it fails, memory is not to be had, and nothing worse has happened.
func TestMemoryIsDeniedFirmly(t *testing.T) {
	var deny atomic.Bool
	s := newStore(t, Config{Disksize: 64 << 20, AllocHook: func(take func() error) error {
		if deny.Load() {
			return ErrNoMemory
		}
		return take()
	}})
	deny.Store(true)
	stored := fillUp(t, s)
	if err := tryWrite(s, stored, 1); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	deny.Store(false)
	write(t, s, stored, content{uint32(stored), 1, random}.bytes())
}
