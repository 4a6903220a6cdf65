// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// The file control/pressure says how much of the memory limit is in use, and programs wait for a
// change of its level in poll(2), as for one of memory.events of a cgroup: POLLPRI and POLLERR from
// a change on until the handle is read from its beginning.

// pressureName is the file's name.
const pressureName = "pressure"

// A pressure is the level and its pollers. The kernel numbers each open file that is polled; a file
// whose poll found nothing is to be notified once. The numbers are also words of the requests'
// memory: a successor notifies those files, and the kernel asks for them again.
type pressure struct {
	mu      sync.Mutex
	level   int               // see Server.SetFill; guarded by mu, as are the following fields
	changes uint64            // of level
	seen    map[uint64]uint64 // changes when a handle was read last, by handle
	waiting map[uint64]uint64 // the kernel's numbers of files to be notified, by handle
	words   polledWords       // immutable
	notify  func(kh uint64)   // immutable
}

// read records that a handle is about to read.
func (p *pressure) read(handle uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen, p.waiting = map[uint64]uint64{}, map[uint64]uint64{}
	}
	p.seen[handle] = p.changes
}

// forget forgets a handle.
func (p *pressure) forget(handle uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words.remove(p.waiting[handle])
	delete(p.seen, handle)
	delete(p.waiting, handle)
}

// poll reports whether the level may have changed since a handle was read. If not, and if wanted,
// the file with the kernel's number kh is notified of the next change. A predecessor's handle has
// read nothing.
func (p *pressure) poll(handle, kh uint64, wanted bool) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, read := p.seen[handle]
	if !read || at != p.changes {
		return true
	}
	if wanted && p.waiting[handle] != kh {
		p.waiting[handle] = kh
		p.words.add(kh)
	}
	return false
}

// set sets the level and notifies all that wait for a change.
func (p *pressure) set(level int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if level == p.level {
		return
	}
	p.level = level
	p.changes++
	for handle, kh := range p.waiting {
		p.notify(kh)
		p.words.remove(kh)
		delete(p.waiting, handle)
	}
}

// succeed notifies the files that a predecessor was to notify.
func (p *pressure) succeed() {
	for i := range p.words {
		if kh := p.words[i].Load(); kh != 0 {
			p.notify(kh) // first: a process that dies here leaves the number to the next one
			p.words[i].Store(0)
		}
	}
}

// show is the content of the file. mm_stat has the bytes.
func (p *pressure) show() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Appendf(nil, "level %d\n", p.level), nil
}

// add puts a number in a free word. Those for which there is none are not notified by a successor.
func (w polledWords) add(kh uint64) {
	for i := range w {
		if w[i].CompareAndSwap(0, kh) {
			return
		}
	}
}

func (w polledWords) remove(kh uint64) {
	for i := range w {
		if kh != 0 && w[i].CompareAndSwap(kh, 0) {
			return
		}
	}
}

// The answers to FUSE_POLL, as of poll(2): what the kernel takes for a file without a poll of its
// own (DEFAULT_POLLMASK of its include/linux/poll.h), and what is added after a change.
const (
	rdNorm = 0x40
	wrNorm = 0x100
	always = unix.POLLIN | unix.POLLOUT | rdNorm | wrNorm
	change = unix.POLLPRI | unix.POLLERR
)

// answerPoll answers FUSE_POLL. go-fuse does not know it, and ENOSYS would make the kernel stop
// asking, for all files of the connection.
func (t *thread) answerPoll(m message) {
	answer, events := t.slot.answer(), uint32(always)
	if n := t.c.fs.node(m.node()); n != nil && n.attribute.polled && len(m) >= inHeaderSize+pollSize {
		argument := m[inHeaderSize:]
		handle, kh := binary.LittleEndian.Uint64(argument), binary.LittleEndian.Uint64(argument[8:])
		if t.c.fs.pressure.poll(handle, kh, binary.LittleEndian.Uint32(argument[16:])&pollNotify != 0) {
			events |= change
		}
	}
	putOutHeader(answer, m.unique(), 0, pollOutSize)
	binary.LittleEndian.PutUint32(answer[outHeaderSize:], events)
	binary.LittleEndian.PutUint32(answer[outHeaderSize+4:], 0)
	t.send(answer[:outHeaderSize+pollOutSize])
}

// notifyPoll has the kernel ask again for a file that is polled. It is no error where the file is
// closed.
func (c *connection) notifyPoll(kh uint64) {
	var m [outHeaderSize + 8]byte
	binary.LittleEndian.PutUint32(m[:], uint32(len(m)))
	binary.LittleEndian.PutUint32(m[4:], codePoll)
	binary.LittleEndian.PutUint64(m[outHeaderSize:], kh)
	if _, err := unix.Write(c.device, m[:]); err != nil {
		c.fs.logf("wake those who poll %s: %v", pressureName, err)
	}
}
