// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// snapshots are the contents of open attribute files, by handle: reading a file in pieces yields
// one version. The page path does not use them.
type snapshots struct {
	mu   sync.Mutex
	held map[uint64][]byte // contents do not change; guarded by mu
}

func (s *snapshots) add(handle uint64, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[uint64][]byte)
	}
	s.held[handle] = content
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

// snapshot makes the contents that a handle on n reads.
func (f *fileSystem) snapshot(n *node, handle uint64) fuse.Status {
	content, err := n.show()
	if err != nil {
		f.logf("read %s: %v", n.name, err)
		return fuse.EIO
	}
	f.snapshots.add(handle, content)
	return fuse.OK
}

// Read reads from a handle's snapshot. A predecessor's handle has none yet. Reads of the data file
// take the page path.
func (f *fileSystem) Read(_ <-chan struct{}, in *fuse.ReadIn, _ []byte) (fuse.ReadResult, fuse.Status) {
	n := f.tree.get(in.NodeId)
	if n == nil || n.show == nil {
		return nil, fuse.EBADF
	}
	content, ok := f.snapshots.get(in.Fh)
	if !ok {
		if status := f.snapshot(n, in.Fh); !status.Ok() {
			return nil, status
		}
		content, _ = f.snapshots.get(in.Fh)
	}
	size := clip(in.Offset, uint64(in.Size), uint64(len(content)))
	if size == 0 {
		return fuse.ReadResultData(nil), fuse.OK
	}
	return fuse.ReadResultData(content[in.Offset : in.Offset+size]), fuse.OK
}

// Write sets an attribute. As in sysfs the value must come in one write.
func (f *fileSystem) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n := f.tree.get(in.NodeId)
	switch {
	case n == nil || n.set == nil:
		return 0, fuse.EACCES
	case in.Offset != 0:
		return 0, fuse.EINVAL
	}
	if err := n.set(data); err != nil {
		f.logf("write %s: %v", n.name, err)
		return 0, fuse.EINVAL
	}
	return uint32(len(data)), fuse.OK
}

// Fsync has nothing to do: written pages are in the image. Without it the loop driver offers no
// flush.
func (f *fileSystem) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status {
	return fuse.OK
}
