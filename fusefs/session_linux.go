// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/telemetry"
)

// A Session is what outlives the process that serves a device: the mounts, the connections with the
// kernel, and the memory of requests. Its process may start one server after the other on its
// Files. Its methods are safe for concurrent use, except that Abort excludes Abort and Close; those
// that unmount wait for one another.
type Session struct {
	mu         sync.Mutex
	dir        string   // absolute, without symbolic links; immutable
	in         placed   // immutable
	files      Files    // immutable until Close
	requests   requests // unmapped by Close; guarded by view
	slots      int      // that the memory of requests has; immutable
	fixed      [][]byte // see KeepRequests; guarded by view
	view       sync.RWMutex
	attributes mount
	data       mount
	pin        *os.File // keeps the attributes' mount in use, see Pin; guarded by mu
	aborted    bool     // the devices in files are closed; set by Abort, which excludes Close
	unmounted  bool     // Unmount has removed the data file's mount; guarded by mu
}

// A mount is one of a session's two.
type mount struct {
	dir    string   // immutable
	typ    string   // immutable
	number int      // of the connection; immutable
	file   *os.File // the mount before it is attached, else nil; guarded by Session.mu
}

// placed calls a function on a thread that sees the directory and its mounts, and returns its
// error. nil stands for any thread of the process.
type placed func(func() error) error

func (in placed) call(f func() error) error {
	if in == nil {
		return f()
	}
	return in(f)
}

// NewSession makes a device to be mounted on dir, an existing directory. A server must have begun
// before Attach makes it visible. allowOther admits users other than the one who mounts, as far as
// modes allow; in a user namespace it admits the users of that namespace. A process that is in
// another mount namespace than dir passes a function that calls its argument in that of dir; in is
// nil for others.
func NewSession(dir string, allowOther bool, in func(func() error) error) (s *Session, err error) {
	err = placed(in).call(func() error {
		if dir, err = mountPoint(dir); err != nil {
			return err
		}
		if s, err = newSession(dir, allowOther, in); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
		return nil
	})
	return s, err
}

func newSession(dir string, allowOther bool, in placed) (_ *Session, err error) {
	s := &Session{
		dir:        dir,
		in:         in,
		attributes: mount{dir: dir, typ: typeName},
		data:       mount{dir: filepath.Join(dir, "dev"), typ: dataTypeName},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	shape := requestsShape{attributes: attributeThreads, data: dataThreads(), transfer: maxWrite()}
	if err := s.makeRequests(shape); err != nil {
		return nil, err
	}
	if s.files.Attributes, err = s.attributes.make(attributeTransfer, allowOther); err != nil {
		return nil, err
	}
	if s.files.Data, err = s.data.make(shape.transfer, allowOther); err != nil {
		return nil, err
	}
	s.requests.word(wordConnection + int(attributeConnection)).Store(uint64(s.attributes.number))
	s.requests.word(wordConnection + int(dataConnection)).Store(uint64(s.data.number))
	return s, nil
}

// make opens a connection and makes its mount.
func (m *mount) make(transfer int, allowOther bool) (device *os.File, err error) {
	if device, err = openDevice(); err != nil {
		return nil, err
	}
	m.file, m.number, err = makeMount(device, m.typ, transfer, allowOther)
	return device, err
}

// makeRequests makes the memory of requests. All of it is present from the start: it lies in a
// memfd, which is locked along with the rest of our memory.
func (s *Session) makeRequests(shape requestsShape) error {
	fd, err := unix.MemfdCreate("zramfs-requests", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make the memory of requests: %w", err)
	}
	s.files.Requests = os.NewFile(uintptr(fd), "memfd:zramfs-requests")
	if err := unix.Ftruncate(fd, int64(shape.size()+telemetry.Size(shape.data))); err != nil {
		return fmt.Errorf("size the memory of requests: %w", err)
	}
	mem, err := mapRequests(s.files.Requests)
	if err != nil {
		return err
	}
	s.requests = requests{mem}
	s.requests.format(shape)
	s.slots = shape.attributes + shape.data
	_, err = telemetry.Format(mem[shape.size():], shape.data)
	return err
}

// DataEnded reports whether the data file's connection has ended, as Server.DataEnded does while
// there is a server: its mount is gone and the last user has closed the file, or the connection was
// aborted.
func (s *Session) DataEnded() bool { return hasEnded(s.files.Data) }

// AttributesEnded is DataEnded for the connection of the attributes.
func (s *Session) AttributesEnded() bool { return hasEnded(s.files.Attributes) }

func hasEnded(device *os.File) bool {
	events, err := poll(device)
	return err == nil && events&unix.POLLERR != 0
}

// poll returns what poll(2) says of a connection's device: POLLERR once the connection has ended.
// It fails for a device that is closed: the kernel says nothing of one, and may have given its
// descriptor to another file.
func poll(device *os.File) (events int16, err error) {
	raw, err := device.SyscallConn()
	if err != nil {
		return 0, err
	}
	asked, perr := []unix.PollFd{{}}, error(unix.EINTR)
	err = raw.Control(func(fd uintptr) {
		asked[0].Fd = int32(fd)
		for perr == unix.EINTR {
			_, perr = unix.Poll(asked, 0)
		}
	})
	return asked[0].Revents, cmp.Or(err, perr)
}

// Abort ends both connections, once no server has the files: waiting users get an error. It does
// not wait for Attach, Unmount or EndCopies, which may be among those users or look at the
// connections. Abort closes Files, so only their owner may call it, once no server is started.
func (s *Session) Abort() error {
	s.aborted = true
	return errors.Join(s.files.Attributes.Close(), s.files.Data.Close())
}

// Files returns what a server needs. They stay open until Close.
func (s *Session) Files() Files { return s.files }

// MountNumber returns the number that the function MountNumber does for the session's mount.
func (s *Session) MountNumber() int { return s.attributes.number }

// Image returns Config.Image of the last server that has begun to answer, which may have died
// since; 0 where there was none.
func (s *Session) Image() uint64 {
	s.view.RLock()
	defer s.view.RUnlock()
	if s.requests.mem == nil {
		return 0
	}
	return s.requests.word(wordImage).Load()
}

// OpenCount returns how many handles on the data file are open. The kernel reports a closed one a
// moment after close(2) has returned.
func (s *Session) OpenCount() int {
	s.view.RLock()
	defer s.view.RUnlock()
	return s.requests.handles(s.slots)
}

// KeepRequests copies the part of the memory of requests that never changes once a server has
// started: how the memory is laid out, and the negotiation with the kernel.
func (s *Session) KeepRequests() {
	s.view.Lock()
	defer s.view.Unlock()
	if s.requests.mem == nil || s.fixed != nil || s.requests.init(attributeConnection) == nil || s.requests.init(dataConnection) == nil {
		return
	}
	for _, part := range s.requests.fixed() {
		s.fixed = append(s.fixed, bytes.Clone(part))
	}
}

// RestoreRequests repairs what KeepRequests has copied, without which no process can serve, and
// reports whether it was damaged.
func (s *Session) RestoreRequests() (restored bool) {
	s.view.RLock()
	defer s.view.RUnlock()
	if s.requests.mem == nil {
		return false
	}
	for i, part := range s.requests.fixed()[:len(s.fixed)] {
		if !bytes.Equal(part, s.fixed[i]) {
			restored = true
			copy(part, s.fixed[i])
		}
	}
	return restored
}

// Attach makes the device visible: the attributes at the mount point, the data file in dev below
// it. That looks into the attributes, so a server must serve them, and should do so in another
// process.
func (s *Session) Attach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []*mount{&s.attributes, &s.data} {
		if err := s.in.call(func() error { return attach(m.file, m.dir) }); err != nil {
			return errors.Join(err, s.detach())
		}
	}
	for _, m := range []*mount{&s.attributes, &s.data} {
		if err := m.close(); err != nil { // an open descriptor keeps the mount in use
			return errors.Join(err, s.detach())
		}
	}
	return nil
}

// close closes the mount's descriptor, and with it a mount that is not attached.
func (m *mount) close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// Pin protects the attributes from other processes' umount(8) until Unmount: the data file is about
// to be hidden (MNT_DETACH of DIR/dev) while it is in use.
func (s *Session) Pin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pin != nil {
		return nil
	}
	return s.in.call(func() error {
		fd, err := unix.Open(s.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("hold the mount: %w", err)
		}
		s.pin = os.NewFile(uintptr(fd), s.dir)
		return nil
	})
}

const (
	// unmountTries and unmountPause: the kernel reports a closed file, and drops its own reference,
	// after close(2) has returned.
	unmountTries = 10
	unmountPause = 30 * time.Millisecond
)

// Unmount removes both mounts; the data file's may be hidden or gone already. While the data file
// is in use Unmount fails with ErrInUse and leaves the device as it is. Open attributes stay
// readable.
func (s *Session) Unmount() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.attributes.close(), s.data.close()); err != nil {
		return err
	}
	for try := 1; ; try++ {
		done, err := s.remove(&s.data, 0)
		s.unmounted = s.unmounted || done                            // and the last close may never be counted
		if n := s.OpenCount(); err == nil && !s.unmounted && n > 0 { // hidden, and in use
			err = fmt.Errorf("unmount %s: %w, %d open handles on dev/zram0", s.dir, ErrInUse, n)
		}
		if err == nil || belowDead(err) && s.OpenCount() == 0 {
			break
		}
		if !errors.Is(err, ErrInUse) || try == unmountTries {
			return err
		}
		time.Sleep(unmountPause)
	}
	return s.takeAway()
}

// TakeAway removes what is visible of a device whose data file is no longer reachable. The last
// close may not be counted yet.
func (s *Session) TakeAway() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeAway()
}

func (s *Session) takeAway() error {
	_, err := s.remove(&s.data, unix.MNT_DETACH)
	if belowDead(err) {
		err = nil // the mount goes with the attributes
	}
	return errors.Join(err, s.detach())
}

// remove is unmount for a mount of the session.
func (s *Session) remove(m *mount, flags int) (done bool, err error) {
	err = s.in.call(func() error {
		done, err = unmount(m.dir, m.typ, m.number, flags, s.OpenCount)
		return err
	})
	return done, err
}

// belowDead reports whether a mount below the attributes cannot be reached, since the kernel asks
// for them anew after a day, and their connection has ended.
func belowDead(err error) bool {
	return errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED)
}

// detach unmounts the attributes, with all that is mounted below them.
func (s *Session) detach() error {
	pin := s.pin
	s.pin = nil
	err := errors.Join(s.attributes.close(), s.data.close())
	if pin != nil {
		err = errors.Join(err, pin.Close())
	}
	_, uerr := s.remove(&s.attributes, unix.MNT_DETACH)
	if belowDead(uerr) { // of another device: the mount goes with those, and EndCopies ends this one
		uerr = nil
	}
	return errors.Join(err, uerr)
}

// Close closes all files. Users of a mount that is left get an error, unless a server has the files
// too.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.attributes.close(), s.data.close())
	all := []*os.File{s.files.Requests, s.pin}
	if !s.aborted {
		all = append(all, s.files.Attributes, s.files.Data)
	}
	for _, f := range all {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	s.files, s.pin = Files{}, nil
	s.view.Lock()
	defer s.view.Unlock()
	if s.requests.mem != nil {
		err = errors.Join(err, s.requests.unmap())
	}
	s.requests = requests{}
	return err
}
