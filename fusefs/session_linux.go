// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Session is what outlives the process that serves a device: the mounts, the
// connections with the kernel, and the memory of requests. Whoever has it may
// start one server after the other on its Files. Its methods are safe for
// concurrent use, but for Abort beside another Abort or Close; those that take mounts
// away wait for one another.
type Session struct {
	mu         sync.Mutex
	dir        string   // absolute, without symbolic links; immutable
	files      Files    // immutable, but for Abort and Close
	requests   requests // a view, which goes with Close; guarded by view
	view       sync.RWMutex
	attributes mount
	data       mount
	pin        *os.File // keeps the attributes' mount from others, see Pin; guarded by mu
}

// A mount is one of a session's two.
type mount struct {
	dir    string   // immutable
	typ    string   // immutable
	number int      // of the connection; immutable
	file   *os.File // the mount before it is attached, else nil; guarded by Session.mu
}

// NewSession makes a device that can be mounted on dir, an existing directory. A
// server must have begun before Attach makes it visible. allowOther lets users
// other than the one who mounts in, as far as modes allow; in a user namespace it
// lets in those who are in that namespace.
func NewSession(dir string, allowOther bool, transport Transport) (_ *Session, err error) {
	dir, err = mountPoint(dir)
	if err != nil {
		return nil, err
	}
	s, err := newSession(dir, allowOther, transport)
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", dir, err)
	}
	return s, nil
}

func newSession(dir string, allowOther bool, transport Transport) (_ *Session, err error) {
	s := &Session{
		dir:        dir,
		attributes: mount{dir: dir, typ: typeName},
		data:       mount{dir: filepath.Join(dir, "dev"), typ: dataTypeName},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	shape, err := shapeFor(transport)
	if err != nil {
		return nil, err
	}
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

// make opens a connection and makes the mount of it.
func (m *mount) make(transfer int, allowOther bool) (device *os.File, err error) {
	if device, err = openDevice(); err != nil {
		return nil, err
	}
	m.file, m.number, err = makeMount(device, m.typ, transfer, allowOther)
	return device, err
}

// makeRequests makes the memory of requests. All of it is present from the start:
// it lies in a memfd, which is locked where our whole memory is.
func (s *Session) makeRequests(shape requestsShape) error {
	fd, err := unix.MemfdCreate("zramfs-requests", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make the memory of requests: %w", err)
	}
	s.files.Requests = os.NewFile(uintptr(fd), "memfd:zramfs-requests")
	if err := unix.Ftruncate(fd, int64(shape.size())); err != nil {
		return fmt.Errorf("size the memory of requests: %w", err)
	}
	mem, err := mapRequests(s.files.Requests)
	if err != nil {
		return err
	}
	s.requests = requests{mem}
	s.requests.format(shape)
	return nil
}

// DataEnded tells whether the data file's connection has ended, as Server.DataEnded
// does while there is a server: its mount is gone and nobody has the file open, or
// somebody has aborted it.
func (s *Session) DataEnded() bool {
	device := []unix.PollFd{{Fd: int32(s.files.Data.Fd())}}
	_, err := unix.Poll(device, 0)
	return err == nil && device[0].Revents&unix.POLLERR != 0
}

// Abort ends both connections, as soon as no server has the files any more: whoever
// waits for an answer gets an error. That may be somebody in here who attaches or takes
// a mount away, so it does not wait for them. It belongs to who uses Files, which nobody
// may need any more.
func (s *Session) Abort() error {
	err := errors.Join(s.files.Attributes.Close(), s.files.Data.Close())
	s.files.Attributes, s.files.Data = nil, nil
	return err
}

// Files are what a server needs. They stay open until Close.
func (s *Session) Files() Files { return s.files }

// MountNumber is what the function of that name says of the session's device.
func (s *Session) MountNumber() int { return s.attributes.number }

// OpenCount is how many handles on the data file are open now. The kernel reports
// a closed one a moment after close(2) has returned.
func (s *Session) OpenCount() int {
	s.view.RLock()
	defer s.view.RUnlock()
	return s.requests.handles()
}

// Attach makes the device visible: the attributes at the mount point, the data
// file in dev below it. That looks into the attributes, so a server must serve
// them, and should do so in another process.
func (s *Session) Attach() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []*mount{&s.attributes, &s.data} {
		if err := attach(m.file, m.dir); err != nil {
			return errors.Join(err, s.detach())
		}
	}
	for _, m := range []*mount{&s.attributes, &s.data} {
		if err := m.let(); err != nil { // an open mount is one in use
			return errors.Join(err, s.detach())
		}
	}
	return nil
}

// let closes the mount's descriptor, and with it a mount that is not attached.
func (m *mount) let() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// errNoTouch: the data file was not looked at in time.
var errNoTouch = errors.New("no answer")

// Touch makes the kernel know the data file, which a server that uses rings needs
// to stop. It fails where the file is hidden, which the kernel knows because it is
// in use, and after limit.
func (s *Session) Touch(limit time.Duration) error {
	done := make(chan error, 1)
	go func() {
		var st unix.Stat_t
		done <- unix.Stat(filepath.Join(s.data.dir, "zram0"), &st)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return errNoTouch
	}
}

// SurvivesCrash tells whether another server can go on where the last one has died:
// not while requests come by rings, but where those were at rest or had not begun.
func (s *Session) SurvivesCrash() bool {
	s.view.RLock()
	defer s.view.RUnlock()
	return s.requests.mem != nil && s.requests.word(wordRings).Load() != ringsServe
}

// Pin keeps the attributes mounted against others' umount(8) until Unmount: the
// data file is about to be hidden (MNT_DETACH of DIR/dev) while it is in use.
func (s *Session) Pin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pin != nil {
		return nil
	}
	fd, err := unix.Open(s.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("hold the mount: %w", err)
	}
	s.pin = os.NewFile(uintptr(fd), s.dir)
	return nil
}

const (
	// unmountTries and unmountPause: the kernel tells us of a closed file, and
	// drops its own hold on it, after close(2) has returned.
	unmountTries = 10
	unmountPause = 30 * time.Millisecond
)

// Unmount removes both mounts, of which the data file's may be hidden or gone
// already. It fails with ErrInUse and leaves the device as it is while somebody
// uses the data file. Whoever still looks at an attribute may finish.
func (s *Session) Unmount() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.attributes.let(), s.data.let()); err != nil {
		return err
	}
	for try := 1; ; try++ {
		done, err := unmount(s.data.dir, s.data.typ, s.data.number, 0, s.OpenCount)
		if n := s.OpenCount(); err == nil && !done && n > 0 { // hidden, and in use
			err = fmt.Errorf("unmount %s: %w, %d open handles on dev/zram0", s.dir, ErrInUse, n)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, ErrInUse) || try == unmountTries {
			return err
		}
		time.Sleep(unmountPause)
	}
	return s.takeAway()
}

// TakeAway removes what is visible of a device whose data file cannot be reached
// any more. Who closed it last may not be counted yet.
func (s *Session) TakeAway() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeAway()
}

func (s *Session) takeAway() error {
	_, err := unmount(s.data.dir, s.data.typ, s.data.number, unix.MNT_DETACH, s.OpenCount) // dead, if it is there
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {                // the attributes are, which lead there
		err = nil // it goes with them
	}
	return errors.Join(err, s.detach())
}

// detach takes the attributes away, with what is mounted below them.
func (s *Session) detach() error {
	pin := s.pin
	s.pin = nil
	err := errors.Join(s.attributes.let(), s.data.let())
	if pin != nil {
		err = errors.Join(err, pin.Close())
	}
	_, uerr := unmount(s.dir, s.attributes.typ, s.attributes.number, unix.MNT_DETACH, s.OpenCount)
	return errors.Join(err, uerr)
}

// Close lets go of everything: a mount that is left ends with an error for
// whoever uses it, unless a server has the files too.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.attributes.let(), s.data.let())
	for _, f := range []*os.File{s.files.Attributes, s.files.Data, s.files.Requests, s.pin} {
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
