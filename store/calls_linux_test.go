// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
)

// failedWith demands that an error says which call has failed, and how.
func failedWith(t *testing.T, err error, call string, errno unix.Errno) {
	t.Helper()
	if call == "" || !errors.Is(err, errno) && !errors.Is(err, ErrNoMemory) && !errors.Is(err, ErrNotMemory) {
		t.Errorf("with %q failing by %v the error is %v", call, errno, err)
	}
}

// A store that cannot be made or opened says why, takes nothing along and loses nothing: the next
// attempt has all pages. One that can be opened all the same works.
func TestCallsOfOpenFail(t *testing.T) {
	cfg := withAlgorithm(t, Config{Disksize: 2 << 20, Backing: newBacking(t, 100)})
	data := map[uint64][]byte{}
	for page := range uint64(300) {
		data[page] = testContent(page, 1).bytes()
	}
	callfail.Each(t, func(t *testing.T, fail callfail.Fail) {
		mem, err := NewMemory(MemoryMemfd)
		if err != nil {
			t.Fatal(err)
		}
		mapped := callfail.Mappings(t)
		attempt := func(open func(*Memory, Config) (*Store, error)) (s *Store) {
			call, errno := fail(func() { s, err = open(mem, cfg) })
			if err == nil {
				return s
			}
			failedWith(t, err, call, errno)
			if n := callfail.Mappings(t); n != mapped {
				t.Errorf("after %s failed %d memory files are mapped, %d were", call, n, mapped)
			}
			if s, err = open(mem, cfg); err != nil {
				t.Fatalf("after %s failed: %v", call, err)
			}
			return s
		}
		s := attempt(Create)
		holds(t, s)
		for page, p := range data {
			write(t, s, page, p)
		}
		mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{End: 50}}})
		discard(s, 200, 50)
		s.die()
		s = attempt(Open)
		for page, p := range data {
			if page >= 200 && page < 250 {
				p = make([]byte, PageSize)
			}
			if !bytes.Equal(read(t, s, page), p) {
				t.Fatalf("page %d is not what it was", page)
			}
		}
		finish(t, s)
		if err := mem.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The maintainer counts all memory that it takes and gives back, whichever call fails, and uses
// none that it did not get.
func TestCallsOfMaintainerFail(t *testing.T) {
	for name, work := range map[string]func(s *Store) (done bool){
		"refill":        func(s *Store) bool { _, _ = s.refill(); return s.reserve() >= s.target() },
		"shrink":        func(s *Store) bool { return s.shrink(true) != settleEvery },
		"giveBackEmpty": func(s *Store) bool { s.giveBackEmpty(); return false },
		"squeeze": func(s *Store) bool {
			s.limit.Store(uint64(s.used()) / 2)
			s.shrinkToLimit()
			s.limit.Store(0)
			return false
		},
		"grow": func(s *Store) bool {
			s.workers[0].lastIndexPage.Store(4000)
			s.idx.grow()
			s.workers[0].lastIndexPage.Store(0)
			return false
		},
		"giveBack": func(s *Store) bool {
			if s.idx.take(3000, 3003, false) {
				s.idx.giving.under, s.idx.giving.next = true, 3000
				s.idx.leaveSome(true)
				for !s.idx.release() { // Check has just let the workers go
					time.Sleep(waitPause)
				}
			}
			return false
		},
		"take":          func(s *Store) bool { return s.idx.take(3000, 3001, false) },
		"cede":          func(s *Store) bool { return s.cedeSegment(0) },
		"shrinkReserve": func(s *Store) bool { s.atMost.Store(1); s.atFirst = 1; return s.shrinkReserve(true) == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Config{Disksize: populateUpTo + 8<<30, MaxMemory: 1 << 28})
			defer s.unmaintained()()
			s.turnEnd = time.Now().Add(time.Hour)
			callfail.Each(t, func(t *testing.T, fail callfail.Fail) {
				for s.reserve() > 0 && name != "refill" && name != "cede" && name != "shrinkReserve" {
					n, _ := s.tryTake(0)
					s.segment(uint64(n)).turn(segOpen, segEmpty)
					s.queueEmpty(uint64(n))
				}
				for name == "refill" && s.reserve() > 1 {
					s.cedeSegment(0)
				}
				for (name == "cede" || name == "shrinkReserve") && s.reserve() < 4 {
					if err := s.grow(); err != nil {
						t.Fatal(err)
					}
				}
				done := false
				call, errno := fail(func() { done = work(s) })
				if tells := name != "giveBackEmpty" && name != "squeeze" && name != "grow" && name != "giveBack"; done && failed(call, errno) || tells && !done && call == "" {
					t.Errorf("%q failed by %v, and all is done: %v", call, errno, done)
				}
				holds(t, s)
			})
		})
	}
}

// failed reports whether a call that failed is not made again, in another way either: those that a
// signal has interrupted are, and older kernels lack a hint.
func failed(call string, errno unix.Errno) bool {
	return call != "" && errno != unix.EINTR && (call != "madvise" || errno != unix.EINVAL)
}

// A memory file that cannot do as it is asked says so, and keeps nothing of what it cannot give
// whole.
func TestCallsOfMemoryFile(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	if err := mem.reserve(size); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"allocate": func() error { return mem.allocate(PageSize, 4*PageSize) },
		"populate": func() error { return mem.populate(PageSize, 4*PageSize) },
		"adopt":    func() error { return mem.adopt(PageSize, 4*PageSize) },
		"punch":    func() error { return mem.punch(PageSize, 4*PageSize) },
		"nextData": func() error { _, _, err := mem.nextData(0); return err },
		"taken":    func() error { _, err := mem.Taken(); return err },
		"length":   func() error { _, err := mem.length(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			callfail.Each(t, func(t *testing.T, fail callfail.Fail) {
				var err error
				call, errno := fail(func() { err = do() })
				interrupted := errno == unix.EINTR && (call == "lseek" || call == "fstat") // no signal does that
				if !interrupted && failed(call, errno) != (err != nil) || err != nil && !errors.Is(err, errno) || errors.Is(err, ErrNoMemory) != (name == "allocate" && errno == unix.ENOMEM && err != nil) {
					t.Errorf("with %q failing by %v: %v", call, errno, err)
				}
				if n, terr := mem.Taken(); terr != nil || name == "allocate" && err != nil && n != 0 {
					t.Errorf("%d bytes are taken (%v)", n, terr)
				}
				if err := mem.punch(0, size); err != nil {
					t.Error(err)
				}
			})
		})
	}
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}

// Memory, a key or a backing device that cannot be had leaves nothing behind and says why.
func TestCallsOfMemoryFail(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "backing")
	if err := errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, 1<<20)); err != nil {
		t.Fatal(err)
	}
	key, err := NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Create(mem, withAlgorithm(t, Config{Disksize: 1 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(s.Close(), mem.Close(), key.Close()); err != nil {
			t.Error(err)
		}
	}()
	superblock, err := mem.Superblock()
	if err != nil {
		t.Fatal(err)
	}
	var image, secret *os.File // for one attempt
	for name, open := range map[string]func() (io.Closer, error){
		"memfd":        func() (io.Closer, error) { return NewMemory(MemoryMemfd) },
		"noswap":       func() (io.Closer, error) { return NewMemory(MemoryNoswap) },
		"auto":         func() (io.Closer, error) { return NewMemory(MemoryAuto) },
		"key":          func() (io.Closer, error) { return NewSecret() },
		"file":         func() (io.Closer, error) { return OpenBacking(disk) },
		"adopt memory": func() (io.Closer, error) { return AdoptMemory(image, MemoryMemfd) },
		"adopt key":    func() (io.Closer, error) { return AdoptSecret(secret) },
		"backing": func() (io.Closer, error) {
			s, err := AdoptSecret(secret)
			if err != nil {
				return nil, errors.Join(err, image.Close())
			}
			return NewBacking(image, s)
		},
		"lock": func() (io.Closer, error) {
			err := mem.Lock(0, PageSize)
			return image, errors.Join(err, mem.unlock())
		},
		"superblock": func() (io.Closer, error) {
			_, err := mem.Superblock()
			return image, errors.Join(err, mem.Check())
		},
		"restore": func() (io.Closer, error) {
			s.image.Mem[7]++
			restored, err := mem.RestoreSuperblock(superblock)
			if restored != (err == nil) {
				err = fmt.Errorf("restored: %v: %v", restored, err)
			}
			return image, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			callfail.Each(t, func(t *testing.T, fail callfail.Fail) {
				image, secret = again(t, mem.File()), again(t, key.File())
				var c io.Closer
				var err error
				call, errno := fail(func() { c, err = open() })
				if err != nil {
					failedWith(t, err, call, errno)
				} else if err := c.Close(); err != nil {
					t.Error(err)
				} else if failed(call, errno) && name != "auto" && (name != "file" || !slices.Contains([]string{"openat", "newfstatat", "fstat", "getdents64"}, call)) {
					t.Errorf("%s failed by %v, and nothing says so", call, errno)
				}
				_, _ = image.Close(), secret.Close() // where the attempt has not taken them
				copy(s.image.Mem, superblock)
			})
		})
	}
}

// again is another descriptor of a file.
func again(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}
