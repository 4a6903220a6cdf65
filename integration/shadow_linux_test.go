// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
)

// longestOp is the most bytes that one random operation covers: more than one
// request of the kernel holds several of.
const longestOp = 160 << 10

// Modes of fallocate(2), from linux/falloc.h.
const (
	punchHole     = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	zeroRange     = unix.FALLOC_FL_ZERO_RANGE
	zeroRangeKeep = unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE
)

// A shadow is an open device with a copy in memory of its contents. Jobs on disjoint ranges may use
// one at the same time.
type shadow struct {
	plain, direct *os.File // immutable; without and with O_DIRECT
	want          []byte   // immutable slice; bytes belong to the job of their range
	source        []byte   // immutable; compressible and incompressible pages to write
}

// openShadow opens a new device.
func openShadow(t testing.TB, dir string) *shadow {
	t.Helper()
	s := &shadow{
		plain:  openData(t, dir, 0),
		direct: openData(t, dir, unix.O_DIRECT),
		want:   make([]byte, statusOf(t, dir).Disksize),
		source: bytes.Join(pages.Mix(256, 1), nil),
	}
	return s
}

// openData opens a device's data file until the test ends.
func openData(t testing.TB, dir string, flags int) *os.File {
	t.Helper()
	return openFile(t, data(dir), flags)
}

// openFile opens a file for reading and writing until the test ends.
func openFile(t testing.TB, path string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return f
}

// aligned returns a page of memory that a block device can read into directly.
func aligned(t testing.TB) []byte {
	t.Helper()
	page, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(page); err != nil {
			t.Error(err)
		}
	})
	return page
}

// churn does n random operations on the bytes from lo to hi and checks each
// read.
func (s *shadow) churn(rng *rand.Rand, lo, hi, n int) error {
	for i := range n {
		off := lo + rng.IntN(hi-lo)
		length := min(s.length(rng), hi-off)
		f := s.plain
		if rng.IntN(2) == 0 {
			f = s.direct
		}
		var err error
		switch rng.IntN(10) {
		case 0, 1, 2, 3:
			err = s.write(f, off, s.content(rng, length))
		case 4:
			err = s.free(f, []uint32{punchHole, zeroRange, zeroRangeKeep}[rng.IntN(3)], off, length)
		default:
			err = s.check(f, off, length)
		}
		if err != nil {
			return fmt.Errorf("operation %d, %d bytes from %d on: %w", i, length, off, err)
		}
	}
	return nil
}

// length favours ranges that end on or next to the borders of pages.
func (s *shadow) length(rng *rand.Rand) int {
	switch rng.IntN(4) {
	case 0:
		return 1 + rng.IntN(16)
	case 1:
		return pages.PageSize * (1 + rng.IntN(8))
	case 2:
		return pages.PageSize*(1+rng.IntN(3)) + rng.IntN(3) - 1
	}
	return 1 + rng.IntN(longestOp)
}

// content returns n bytes: part of the sampled pages, zeros, or one repeated
// word, so that every way of storing a page has its share.
func (s *shadow) content(rng *rand.Rand, n int) []byte {
	switch rng.IntN(4) {
	case 0:
		return make([]byte, n)
	case 1:
		word := make([]byte, 8)
		word[rng.IntN(8)] = byte(1 + rng.IntN(255))
		return bytes.Repeat(word, n/8+1)[:n]
	}
	from := rng.IntN(len(s.source) - n)
	return s.source[from : from+n]
}

func (s *shadow) write(f *os.File, off int, p []byte) error {
	n, err := unix.Pwrite(int(f.Fd()), p, int64(off))
	if err != nil || n != len(p) {
		return fmt.Errorf("write: %d bytes, %w", n, err)
	}
	copy(s.want[off:], p)
	return nil
}

func (s *shadow) free(f *os.File, mode uint32, off, n int) error {
	if err := unix.Fallocate(int(f.Fd()), mode, int64(off), int64(n)); err != nil {
		return fmt.Errorf("fallocate mode %#x: %w", mode, err)
	}
	clear(s.want[off : off+n])
	return nil
}

// check reads n bytes and compares them.
func (s *shadow) check(f *os.File, off, n int) error {
	got := make([]byte, n)
	read, err := unix.Pread(int(f.Fd()), got, int64(off))
	if err != nil || read != n {
		return fmt.Errorf("read: %d bytes, %w", read, err)
	}
	if want := s.want[off : off+n]; !bytes.Equal(got, want) {
		return fmt.Errorf("read: %w", difference(got, want, off))
	}
	return nil
}

// checkAll compares the whole device, in pieces that are not whole pages.
func (s *shadow) checkAll() error {
	const piece = 1<<20 - 777
	for off := 0; off < len(s.want); off += piece {
		for _, f := range []*os.File{s.plain, s.direct} {
			if err := s.check(f, off, min(piece, len(s.want)-off)); err != nil {
				return fmt.Errorf("at %d: %w", off, err)
			}
		}
	}
	return nil
}

// difference says where two slices that begin at off of a device differ.
func difference(got, want []byte, off int) error {
	for i := range want {
		if got[i] != want[i] {
			at := off + i
			return fmt.Errorf("byte %d (page %d, offset %d) is %#x, want %#x",
				at, at/pages.PageSize, at%pages.PageSize, got[i], want[i])
		}
	}
	return nil
}
