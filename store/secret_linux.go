// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A Secret is the key of a backing device, and the count of what was encrypted with it. It lies in
// one page of memory that a keeper and its workers share: each has it mapped, locked and left out
// of core dumps, and it is no part of the image. It ends with the last process that has it.
//
// Its methods are safe for concurrent use, but for Close.
type Secret struct {
	file *os.File // nil in a process that does not pass it on
	mem  []byte   // the key, and then the count
}

const (
	secretKey   = 32 // bytes
	secretCount = 64 // where the count lies
)

// NewSecret makes a key. It fails where the memory cannot be locked.
func NewSecret() (*Secret, error) {
	fd, err := unix.MemfdCreate("zramfs-key", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:zramfs-key")
	if err := unix.Ftruncate(fd, PageSize); err != nil {
		return nil, errors.Join(os.NewSyscallError("ftruncate", err), f.Close())
	}
	s, err := mapSecret(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.file = f
	_, err = rand.Read(s.mem[:secretKey])
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make key: %w", err), s.Close())
	}
	return s, nil
}

// AdoptSecret makes a Secret of the file that another process passed on, and closes f.
func AdoptSecret(f *os.File) (*Secret, error) {
	s, err := mapSecret(f)
	if cerr := f.Close(); err == nil && cerr != nil {
		return nil, errors.Join(cerr, s.Close())
	}
	return s, err
}

func mapSecret(f *os.File) (*Secret, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map key: %w", os.NewSyscallError("mmap", err))
	}
	err = os.NewSyscallError("mlock", unix.Mlock(mem))
	if err == nil {
		err = os.NewSyscallError("madvise", unix.Madvise(mem, unix.MADV_DONTDUMP))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("protect key: %w", err), unix.Munmap(mem))
	}
	return &Secret{mem: mem}, nil
}

// File is what AdoptSecret takes in another process. It stays the Secret's.
func (s *Secret) File() *os.File { return s.file }

// serials returns the first of n numbers that were never given before, by any process.
func (s *Secret) serials(n int) uint64 { return s.count().Add(uint64(n)) - uint64(n) + 1 }

func (s *Secret) count() *atomic.Uint64 { return image.Counter(s.mem, secretCount) }

// Close forgets the key in this process.
func (s *Secret) Close() error {
	err := os.NewSyscallError("munmap", unix.Munmap(s.mem))
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
