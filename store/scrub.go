// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// Scrubbed says what Scrub has found.
type Scrubbed struct {
	Pages   uint64 // that were looked at
	Damaged uint64 // of these, pages whose read would fail with ErrCorrupt
}

// Scrub proves the checksum of each stored page, by page, while requests go on, and tells damaged
// the numbers of those whose read would fail with ErrCorrupt. Neither counts nor ages change. It
// does not read the backing device: of a page that was written back it proves the stub. It takes a
// worker from the requests for half a millisecond at a time; rest is called after that, without
// anything held, and may sleep. Scrub fails with the context's error once that is done, and with
// ErrClosed.
func (s *Store) Scrub(ctx context.Context, damaged func(page uint64), rest func()) (did Scrubbed, err error) {
	if !s.operators.TryRLock() {
		return did, ErrClosed
	}
	defer s.operators.RUnlock()
	for page := uint64(0); page < s.image.Pages; {
		var found []uint64
		page, found = s.scrubPiece(page, &did)
		for _, p := range found {
			damaged(p)
		}
		rest()
		if s.closing() {
			return did, ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return did, err
		}
	}
	return did, nil
}

// scrubPiece proves pages from one on, for a short time, and returns the one to go on with.
func (s *Store) scrubPiece(page uint64, did *Scrubbed) (next uint64, damaged []uint64) {
	w := s.acquireLast()
	defer w.Release()
	for begun := time.Now(); page < s.image.Pages; page++ {
		if page%image.EntriesPerPage == 0 {
			n := s.idx.next(page/image.EntriesPerPage, true)
			if page = n * image.EntriesPerPage; n >= s.image.IndexPages {
				return s.image.Pages, damaged
			}
		}
		if page%scrubLook == 0 && time.Since(begun) > pieceTime {
			return page, damaged
		}
		if s.idx.load(page) == 0 {
			continue
		}
		did.Pages++
		if !w.intact(page) {
			did.Damaged++
			damaged = append(damaged, page)
		}
	}
	return page, damaged
}

// scrubLook is after how many pages a piece looks at the time: some microseconds.
const scrubLook = 16

// intact reports whether what is stored of a page passes its checksum. As for a read, damage counts
// only if it is there under the page's lock too.
func (w *Worker) intact(page uint64) bool {
	w.beginRead()
	ok := w.s.proves(page, w.s.idx.load(page))
	w.endRead()
	if ok {
		return true
	}
	l := w.lockPage(page)
	defer l.Unlock()
	return w.s.proves(page, w.s.idx.load(page))
}

// proves reports whether what an entry of a page stands for is intact.
func (s *Store) proves(page uint64, e image.Entry) bool {
	switch {
	case e == 0:
		return true
	case !e.Valid(s.image.Segments):
		return false
	case e.Same():
		_, ok := s.same.word(e)
		return ok
	}
	_, err := s.object(page, e)
	return err == nil
}
