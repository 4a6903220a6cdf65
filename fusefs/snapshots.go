// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// snapshots are the contents of open attribute files, by handle: reading a file in pieces yields
// one version. The page path does not use them.
type snapshots struct {
	mu   sync.Mutex
	held map[uint64][]byte // contents do not change; guarded by mu
	read map[uint64]cursor // of handles on files that have no snapshot; guarded by mu
	// user has the strangers, by handle, whose files are counted in strangers; guarded by mu.
	user      map[uint64]uint32
	strangers userQuota // guarded by mu
}

func (s *snapshots) add(handle uint64, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[uint64][]byte)
	}
	s.held[handle] = content
}

// addOf is add for a stranger, whom admit has admitted: twice where two reads at once find that a
// predecessor's handle has no contents.
func (s *snapshots) addOf(user uint32, handle uint64, content []byte) {
	s.add(handle, content)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user == nil {
		s.user = make(map[uint64]uint32)
	}
	if first, twice := s.user[handle]; twice {
		s.dismiss(first)
	}
	s.user[handle] = user
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
	if user, ok := s.user[handle]; ok {
		s.dismiss(user)
		delete(s.user, handle)
	}
	delete(s.held, handle)
	delete(s.read, handle)
}

func (s *snapshots) cursor(handle uint64) cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read[handle]
}

func (s *snapshots) setCursor(handle uint64, c cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil {
		s.read = make(map[uint64]cursor)
	}
	s.read[handle] = c
}

// snapshot makes the contents that a handle on n reads.
func (f *fileSystem) snapshot(n *node, in *fuse.InHeader, handle uint64) fuse.Status {
	if n.attribute.polled {
		f.pressure.read(handle)
	}
	stranger := f.stranger(in)
	if stranger {
		if status := f.snapshots.admit(in.Uid); !status.Ok() {
			return status
		}
		if content, ok := f.snapshots.shared(n); ok && !n.attribute.polled {
			f.snapshots.addOf(in.Uid, handle, content)
			return fuse.OK
		}
	}
	content, err := n.attribute.show()
	if err != nil {
		f.logf("read %s: %v", n.name, err)
	}
	if stranger {
		f.snapshots.addOf(in.Uid, handle, content)
	}
	switch {
	case err != nil:
		f.snapshots.remove(handle)
		return fuse.EIO
	case stranger:
		f.snapshots.share(n, content)
	default:
		f.snapshots.add(handle, content)
	}
	return fuse.OK
}

// Read reads from a handle's snapshot. A predecessor's handle has none yet. Reads of the data file
// take the page path.
func (f *fileSystem) Read(_ <-chan struct{}, in *fuse.ReadIn, _ []byte) (fuse.ReadResult, fuse.Status) {
	n := f.node(in.NodeId)
	if n == nil || !n.attribute.readable() {
		return nil, fuse.EBADF
	}
	if n.attribute.stream != nil {
		return f.streamed(n, in)
	}
	content, ok := f.snapshots.get(in.Fh)
	if ok && n.attribute.polled && in.Offset == 0 {
		f.snapshots.remove(in.Fh)
		ok = false
	}
	if !ok && n.attribute.take != nil {
		return f.takeOnce(n, in)
	}
	if !ok {
		if status := f.snapshot(n, &in.InHeader, in.Fh); !status.Ok() {
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

// streamed reads a file that has no snapshot.
func (f *fileSystem) streamed(n *node, in *fuse.ReadIn) (fuse.ReadResult, fuse.Status) {
	content, next, err := n.attribute.stream(f.snapshots.cursor(in.Fh), in.Offset, int(in.Size))
	if err != nil {
		return nil, f.refused(n, in.Unique, err)
	}
	f.snapshots.setCursor(in.Fh, next)
	return fuse.ReadResultData(content), fuse.OK
}

// takeOnce is the first read from a handle on a file whose reading has an effect. Later reads, also
// of a successor, find the end.
func (f *fileSystem) takeOnce(n *node, in *fuse.ReadIn) (fuse.ReadResult, fuse.Status) {
	if in.Offset > 0 {
		return fuse.ReadResultData(nil), fuse.OK
	}
	var content []byte
	err := f.carriedOut(n, func() (err error) {
		content, err = n.attribute.take(in.Unique)
		return err
	})
	if err != nil {
		return nil, f.refused(n, in.Unique, err)
	}
	f.snapshots.add(in.Fh, content)
	return fuse.ReadResultData(content[:min(len(content), int(in.Size))]), fuse.OK
}

// Write sets an attribute. As in sysfs the value must come in one write, whose offset does not
// matter: a script may write several values through one descriptor.
func (f *fileSystem) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n := f.node(in.NodeId)
	if n == nil || n.attribute.set == nil {
		return 0, fuse.EACCES
	}
	if err := f.carriedOut(n, func() error { return n.attribute.set(in.Unique, data) }); err != nil {
		return 0, f.refused(n, in.Unique, err)
	}
	return uint32(len(data)), fuse.OK
}

// carriedOut calls f for an attribute. It fails with EAGAIN where that may take long and would keep
// the last thread from others.
func (f *fileSystem) carriedOut(n *node, do func() error) error {
	if !n.attribute.long {
		return do()
	}
	defer f.long.Add(-1)
	if f.long.Add(1) > f.maxLong {
		return syscall.EAGAIN
	}
	return do()
}

// refused returns the error number for what an attribute does not do: the first in the chain of
// err, or EINVAL. It logs what says more than the number.
func (f *fileSystem) refused(n *node, request uint64, err error) fuse.Status {
	if errors.Is(err, ErrLeft) {
		f.left.Store(request, true)
		return fuse.EIO // which is not sent
	}
	number := syscall.EINVAL
	if bare := errors.As(err, &number); !bare || err != error(number) {
		f.logf("%s: %v", n.name, err)
	}
	return fuse.Status(number)
}

// Fsync has nothing to do: written pages are in the image. Without it the loop driver offers no
// flush.
func (f *fileSystem) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status {
	return fuse.OK
}
