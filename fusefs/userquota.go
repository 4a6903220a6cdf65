// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Every user may read attributes, and each open file of one takes memory of the serving process,
// which is locked and which the OOM killer leaves alone; making its contents takes processor time
// from page faults. So there are bounds for strangers: users other than root and the device's
// owner.
const (
	strangerFiles  = 64                     // open attribute files of one stranger that have contents
	strangersFiles = 1024                   // of all strangers
	strangerAge    = 100 * time.Millisecond // userQuota get contents of that age
)

// userQuota are the open files of strangers.
type userQuota struct {
	files int               // of all
	of    map[uint32]int    // by user
	made  map[*node]content // the contents that strangers share
}

// content is what an attribute said at a time.
type content struct {
	text []byte
	when time.Time
}

// stranger reports whether a request's user is neither root nor the device's owner.
func (f *fileSystem) stranger(in *fuse.InHeader) bool {
	return in.Uid != 0 && in.Uid != f.owner.Uid
}

// admit counts an open file of a stranger. It fails with EMFILE where there are too many.
func (s *snapshots) admit(user uint32) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.strangers.of == nil {
		s.strangers.of, s.strangers.made = map[uint32]int{}, map[*node]content{}
	}
	if s.strangers.files == strangersFiles || s.strangers.of[user] == strangerFiles {
		return fuse.Status(syscall.EMFILE)
	}
	s.strangers.files++
	s.strangers.of[user]++
	return fuse.OK
}

// dismiss forgets an open file of a stranger. The caller holds s.mu.
func (s *snapshots) dismiss(user uint32) {
	s.strangers.files--
	if s.strangers.of[user]--; s.strangers.of[user] == 0 {
		delete(s.strangers.of, user)
	}
}

// shared returns the contents of n that another stranger got a moment ago.
func (s *snapshots) shared(n *node) (text []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.strangers.made[n]
	return c.text, time.Since(c.when) < strangerAge
}

func (s *snapshots) share(n *node, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strangers.made[n] = content{text, time.Now()}
}
