// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/fusefs/sysfstext"
	"github.com/zramfs/zramfs/store"
)

// markIdle takes "all", or the least age of pages in seconds.
func (a *attributes) markIdle(text []byte, _ *Settings) error {
	age := uint64(0)
	if sysfstext.Word(text) != "all" {
		var err error
		if age, err = sysfstext.UnsignedOfAnyBase(text, 32); err != nil {
			return syscall.EINVAL
		}
	}
	a.cfg.Store.MarkIdle(time.Duration(age) * time.Second)
	return nil
}

// A cursor is how far a handle on block_state has read: the next line is of the first stored page
// from page on.
type cursor struct{ line, page uint64 }

// stateLine is the length of a line of block_state, in bytes: all are alike, since no device has
// more than 2^32 pages.
const stateLine = 40

// blockState returns up to size bytes of block_state from offset on, as read_block_state of the
// kernel formats them: a line for each stored page, with its number, when it was accessed last in
// seconds since the machine was started, and whether it is same-filled (s), written back (w),
// huge (h), idle (i), recompressed (r) or incompressible (n). A page that changes during the call
// may be missing or twice.
func (a *attributes) blockState(from cursor, offset uint64, size int) ([]byte, cursor, error) {
	if a.cfg.Uninitialised {
		return nil, from, syscall.EINVAL
	}
	s, now := a.cfg.Store, SinceBoot()
	if first := offset / stateLine; first < from.line {
		from = cursor{}
	}
	var content []byte
	var last cursor // of the line in which the content ends
	for int(offset%stateLine)+size > len(content) {
		page := s.NextStored(from.page)
		if page >= s.Pages() {
			break
		}
		state := s.PageState(page)
		from.page = page + 1
		if !state.Stored {
			continue
		}
		if from.line >= offset/stateLine {
			last = cursor{from.line, page}
			content = appendState(content, page, now, state)
		}
		from.line++
	}
	if len(content) > 0 { // the next read may begin within that line
		from = last
	}
	content = content[min(offset%stateLine, uint64(len(content))):]
	return content[:min(size, len(content))], from, nil
}

func appendState(to []byte, page uint64, now time.Duration, s store.PageState) []byte {
	at := max(now-s.Age, 0)
	to = fmt.Appendf(to, "%12d %12d.%06d ", page, at/time.Second, at%time.Second/time.Microsecond)
	for _, f := range []struct {
		is   bool
		flag byte
	}{{s.Same, 's'}, {s.WrittenBack, 'w'}, {s.Huge, 'h'}, {s.Idle, 'i'}, {s.Recompressed, 'r'}, {s.Incompressible, 'n'}} {
		if !f.is {
			f.flag = '.'
		}
		to = append(to, f.flag)
	}
	return append(to, '\n')
}
