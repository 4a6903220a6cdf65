// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/fusefs/sysfstext"
	"github.com/zramfs/zramfs/store"
)

// ErrLeft is what Config.Resize returns once another server takes over. The request that set the
// attribute stays in the memory of requests: the next server carries it out again, and answers it.
var ErrLeft = errors.New("another server answers")

// size is what disksize shows, in bytes.
func (a *attributes) size() uint64 {
	if a.cfg.Uninitialised {
		return 0
	}
	return a.cfg.Store.Disksize()
}

// counters are those of the store, or zeros for a device that has no size yet.
func (a *attributes) counters() store.Stats {
	s := a.cfg.Store.Stats()
	if a.cfg.Uninitialised {
		return store.Stats{MemLimit: s.MemLimit}
	}
	return s
}

func (a *attributes) initState() string {
	if a.cfg.Uninitialised {
		return "0\n"
	}
	return "1\n"
}

// initialised wraps the set function of an attribute that a device without a size refuses.
func (a *attributes) initialised(set func([]byte, *Settings) error) func([]byte, *Settings) error {
	return func(text []byte, c *Settings) error {
		if a.cfg.Uninitialised {
			return syscall.EINVAL
		}
		return set(text, c)
	}
}

// setDisksize takes the size of a device that has none.
func (a *attributes) setDisksize(request uint64, text []byte) error {
	size, _ := sysfstext.Size(text)
	if err := a.begin(); err != nil {
		return err
	}
	defer a.setting.Unlock()
	switch {
	case size == 0:
		return syscall.EINVAL
	case !a.cfg.Uninitialised && a.chosen.Load().Resized == numberOf(request):
		return nil // the predecessor has begun, and this is the device that came of it
	case !a.cfg.Uninitialised:
		return syscall.EBUSY
	case size > store.MaxDisksize:
		return syscall.ENOMEM
	}
	return a.resize(request, (size+pageSize-1)&^(pageSize-1))
}

// reset takes a number other than 0. A device whose data file no process has open loses its
// contents, its size and its settings.
func (a *attributes) reset(request uint64, text []byte) error {
	n, err := sysfstext.Unsigned(text, 16)
	if err != nil {
		return err
	}
	if n == 0 {
		return syscall.EINVAL
	}
	if err := a.begin(); err != nil {
		return err
	}
	defer a.setting.Unlock()
	if a.cfg.Uninitialised {
		if a.cfg.Backing != nil && a.cfg.Backing() != "" {
			if err := a.cfg.SetBacking(numberOf(request), ""); err != nil {
				return err
			}
		}
		return a.change(a.forget)
	}
	a.closed(true)
	if a.inUse() {
		a.closed(false)
		return syscall.EBUSY
	}
	err = a.resize(request, 0)
	if !errors.Is(err, ErrLeft) {
		a.closed(false)
	}
	return err
}

// forget chooses what a new device of the kernel has.
func (a *attributes) forget(c *Settings) error {
	none := uint64(0)
	algorithm, err := codec.Parse(codec.Algorithms()[0])
	if err != nil {
		return err
	}
	*c = Settings{Resized: c.Resized, MemLimit: &none}
	a.cfg.Store.SetMemLimit(none)
	return a.choose(algorithm, c)
}

// resize has the device made anew. The caller holds a.setting.
func (a *attributes) resize(request, size uint64) error {
	if a.cfg.Resize == nil {
		return syscall.EBUSY
	}
	err := a.change(func(c *Settings) error { c.Resized = numberOf(request); return nil })
	if err != nil {
		return err
	}
	return a.cfg.Resize(numberOf(request), size)
}

// closeTries and closePause: the kernel reports a closed file after close(2) has returned.
const (
	closeTries = 10
	closePause = 30 * time.Millisecond
)

// inUse reports whether the data file stays open. The caller has made further opens fail.
func (a *attributes) inUse() bool {
	for range closeTries {
		if a.inFlight() == 0 && a.opens() == 0 {
			return false
		}
		time.Sleep(closePause)
	}
	return true
}

// resent is set in the number of a request that the kernel sends again (FUSE_UNIQUE_RESEND).
const resent = 1 << 63

// numberOf is the number that a request has however often it is sent.
func numberOf(request uint64) uint64 { return request &^ resent }
