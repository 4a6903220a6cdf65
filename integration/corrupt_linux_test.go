// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

const pageSize = pages.PageSize

// corruptible starts a device in the foreground, in the process of the calling test, and fills it
// with pages; every second one does not compress.
func corruptible(t *testing.T) (f *foreground, content [][]byte) {
	t.Helper()
	f = serve(t, filepath.Join(tempDir(t), "zram"), "--size", "8M", "-a", "lz4")
	text, random := pages.Generate(pages.Text, 512, 11), pages.Generate(pages.Random, 512, 12)
	for i := range text {
		content = append(content, text[i], random[i])
	}
	for i, page := range content {
		writePage(t, f.dir, i, page)
	}
	return f, content
}

func writePage(t *testing.T, dir string, number int, page []byte) {
	t.Helper()
	if err := withData(dir, func(fd int) error {
		_, err := unix.Pwrite(fd, page, int64(number)*pageSize)
		return err
	}); err != nil {
		t.Fatalf("write page %d: %v", number, err)
	}
}

func withData(dir string, f func(fd int) error) error {
	fd, err := unix.Open(data(dir), unix.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	return errors.Join(f(fd), unix.Close(fd))
}

// readRange reads n bytes of a device.
func readRange(dir string, off int64, n int) ([]byte, error) {
	p := make([]byte, n)
	err := withData(dir, func(fd int) error {
		got, err := unix.Pread(fd, p, off)
		if err == nil && got != n {
			return fmt.Errorf("read %d of %d bytes", got, n)
		}
		return err
	})
	return p, err
}

// TestCorruptPage flips one byte of one stored object: reading that page is an
// I/O error, which is counted and logged with the page's number, and everything
// else goes on. The page is good again when the byte is, or when it is written.
func TestCorruptPage(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	const victim = 17
	f, content := corruptible(t)
	memory, _ := image(t, f.pid)
	at := locate(t, memory, content[victim]) + 1234
	mustFlip(t, memory, at)
	mustNotRead(t, f.dir, victim)
	err := withData(f.dir, func(fd int) error { _, err := unix.Pwrite(fd, []byte{1}, victim*pageSize); return err })
	if !errors.Is(err, unix.EIO) {
		t.Errorf("write of part of the page: %v, want EIO", err)
	}
	for i, page := range content {
		if i != victim {
			mustHold(t, f.dir, i, page)
		}
	}
	f.log.wait(t, fmt.Sprintf("page %d is damaged", victim))
	if s := statusOf(t, f.dir).IO; s.ChecksumErrors < 5 || s.FailedReads < 4 || s.FailedWrites != 1 {
		t.Errorf("counters %+v", s)
	}
	if got := field(t, attribute(t, f.dir, "io_stat"), 0); got < 4 {
		t.Errorf("io_stat says %d failed reads", got)
	}
	if r := run(t, commandTimeout, "status", f.dir); r.Code != 1 {
		t.Errorf("status: exit code %d: %s", r.Code, r.Stdout)
	}
	mustFlip(t, memory, at)
	mustHold(t, f.dir, victim, content[victim])
	mustFlip(t, memory, at)
	writePage(t, f.dir, victim, content[victim-1])
	mustHold(t, f.dir, victim, content[victim-1])
}

// mustNotRead reads a page, parts of it, and more than it.
func mustNotRead(t *testing.T, dir string, victim int64) {
	t.Helper()
	for name, r := range map[string]struct {
		off int64
		n   int
	}{
		"the page":            {victim * pageSize, pageSize},
		"a byte of it":        {victim*pageSize + 7, 1},
		"it and neighbours":   {(victim - 1) * pageSize, 3 * pageSize},
		"all, in one request": {0, 1 << 20},
	} {
		if _, err := readRange(dir, r.off, r.n); !errors.Is(err, unix.EIO) {
			t.Errorf("read of %s: %v, want EIO", name, err)
		}
	}
}

// locate returns where in the image a page stands that is stored as it is.
func locate(t *testing.T, memory *os.File, page []byte) int64 {
	t.Helper()
	at := bytes.Index(snapshot(t, memory), page)
	if at < 0 {
		t.Fatal("the page does not stand in the image")
	}
	return int64(at)
}

// snapshot reads an image. Reading a hole of the file takes no memory for it, unlike touching a
// mapped one.
func snapshot(t *testing.T, memory *os.File) []byte {
	t.Helper()
	info, err := memory.Stat()
	if err != nil {
		t.Fatal(err)
	}
	held := make([]byte, info.Size())
	if _, err := memory.ReadAt(held, 0); err != nil {
		t.Fatal(err)
	}
	return held
}

func flip(memory *os.File, at int64) error {
	return flipBit(memory, at, 4)
}

// flipBit flips a bit of the image; bit 8 is the first one of the next byte.
func flipBit(memory *os.File, at int64, bit int) error {
	at += int64(bit / 8)
	var b [1]byte
	if _, err := memory.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 1 << (bit % 8)
	_, err := memory.WriteAt(b[:], at)
	return err
}

func mustFlip(t *testing.T, memory *os.File, at int64) {
	t.Helper()
	if err := flip(memory, at); err != nil {
		t.Fatal(err)
	}
}

func mustHold(t *testing.T, dir string, number int, want []byte) {
	t.Helper()
	got, err := readRange(dir, int64(number)*pageSize, pageSize)
	if err == nil {
		err = difference(got, want, number*pageSize)
	}
	if err != nil {
		t.Errorf("page %d: %v", number, err)
	}
}

// TestCorruptMany flips bytes of objects while all pages are read: each page is right or an I/O
// error. Then the device is written anew and emptied, with the damage still around.
func TestCorruptMany(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f, content := corruptible(t)
	memory, _ := image(t, f.pid)
	// Objects lie between these two, and nothing else does.
	first, last := locate(t, memory, content[1]), locate(t, memory, content[len(content)-1])
	if first > last {
		first, last = last, first
	}
	stop := flipping(t, memory, first, last)
	right, failed := readRounds(t, f.dir, content, 8)
	stop()
	if right == 0 || failed == 0 {
		t.Errorf("%d pages were right and %d were errors: neither tells anything", right, failed)
	}
	for i := range content {
		writePage(t, f.dir, i, content[len(content)-1-i])
	}
	for i := range content {
		mustHold(t, f.dir, i, content[len(content)-1-i])
	}
	if err := withData(f.dir, func(fd int) error { return unix.Fallocate(fd, punchHole, 0, 8<<20) }); err != nil {
		t.Error(err)
	}
	if s := statusOf(t, f.dir); s.Memory.OrigDataSize != 0 || s.IO.ChecksumErrors < uint64(failed) {
		t.Errorf("status %+v", s)
	}
}

// flipping flips bytes between two places of the image, one every 100 us, until
// stop is called.
func flipping(t *testing.T, memory *os.File, first, last int64) (stop func()) {
	var flips sync.WaitGroup
	done := make(chan struct{})
	flips.Go(func() {
		rng := rand.New(rand.NewPCG(13, 13))
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if err := flip(memory, first+rng.Int64N(last-first)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	return func() {
		close(done)
		flips.Wait()
	}
}

// readRounds reads all pages several times and counts those that were right and
// those that were I/O errors. Anything else fails the test.
func readRounds(t *testing.T, dir string, content [][]byte, rounds int) (right, failed int) {
	t.Helper()
	for range rounds {
		for i, want := range content {
			got, err := readRange(dir, int64(i)*pageSize, pageSize)
			switch {
			case errors.Is(err, unix.EIO):
				failed++
			case err != nil:
				t.Errorf("page %d: %v", i, err)
			case !bytes.Equal(got, want):
				t.Fatalf("page %d is wrong: %v", i, difference(got, want, i*pageSize))
			default:
				right++
			}
		}
	}
	return right, failed
}
