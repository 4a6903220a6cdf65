// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// snapshots are the contents of open attribute files, by handle: whoever reads
// one in pieces sees one version. The page path has no part in them.
type snapshots struct {
	mu   sync.Mutex
	last uint64            // handle given out last; guarded by mu
	held map[uint64][]byte // contents do not change; guarded by mu
}

func (s *snapshots) add(content []byte) (handle uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[uint64][]byte)
	}
	s.last++
	s.held[s.last] = content
	return s.last
}

func (s *snapshots) get(handle uint64) (content []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok = s.held[handle]
	return content, ok
}

func (s *snapshots) remove(handle uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, handle)
}

// readAttribute reads from a handle's snapshot.
func (f *fileSystem) readAttribute(in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	content, ok := f.snapshots.get(in.Fh)
	if !ok {
		return nil, fuse.EBADF
	}
	n := clip(in.Offset, uint64(len(buf)), uint64(len(content)))
	if n == 0 {
		return f.results.take(nil), fuse.OK
	}
	return f.results.take(content[in.Offset : in.Offset+n]), fuse.OK
}
