// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// TestFull fills a device to its memory limit: the write fails with ENOSPC and
// changes nothing, reads go on, and writes work again once pages are freed.
func TestFull(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	const limit = 12 << 20
	dir := mount(t, "--size", "64M", "--mem-limit", itoa(limit), "-a", "lz4")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	random := pages.Generate(pages.Random, 64<<20/pageSize, 21)
	n := fill(t, fd, random)
	if n < limit/pageSize/2 || n > limit/pageSize {
		t.Fatalf("%d pages fit below a limit of %d bytes", n, limit)
	}
	s := statusOf(t, dir)
	if s.IO.FailedWrites == 0 || s.Memory.MemUsedTotal > limit || s.Memory.OrigDataSize != uint64(n)*pageSize {
		t.Errorf("status when full: %+v, %+v", s.Memory, s.IO)
	}
	if got := field(t, attribute(t, dir, "io_stat"), 1); got != s.IO.FailedWrites {
		t.Errorf("io_stat says %d failed writes, the status %d", got, s.IO.FailedWrites)
	}
	end := int64(n) * pageSize
	if _, err := unix.Pwrite(fd, bytes.Join(random[:256], nil), end); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a long write when full: %v", err)
	}
	if _, err := unix.Pwrite(fd, make([]byte, pageSize), end); err != nil {
		t.Errorf("a page of zeros, which takes no memory: %v", err)
	}
	checkPages(t, fd, random[:n])
	freeAndFill(t, fd, n, random)
}

// freeAndFill frees half of the n pages of a full device and fills most of that
// with others.
func freeAndFill(t *testing.T, fd, n int, random [][]byte) {
	t.Helper()
	half := n / 2
	if err := unix.Fallocate(fd, punchHole, 0, int64(half)*pageSize); err != nil {
		t.Fatal(err)
	}
	within(t, answerTimeout, "writes work again", func() bool {
		_, err := unix.Pwrite(fd, random[n], 0)
		return err == nil
	})
	// Memory comes back by whole segments; some are in use.
	others := random[n : n+half*9/10]
	if again := fill(t, fd, others); again != len(others) {
		t.Errorf("%d pages fit after %d were freed", again, half)
	}
	checkPages(t, fd, others)
	for i := len(others); i < half; i++ {
		checkPage(t, fd, i, make([]byte, pageSize))
	}
	for i := half; i < n; i++ {
		checkPage(t, fd, i, random[i])
	}
}

// fill writes pages from the start of a device on until it is full or there are
// no more, and returns how many it wrote.
func fill(t *testing.T, fd int, content [][]byte) int {
	t.Helper()
	for i, page := range content {
		_, err := unix.Pwrite(fd, page, int64(i)*pageSize)
		if errors.Is(err, unix.ENOSPC) {
			return i
		}
		if err != nil {
			t.Fatalf("write page %d: %v", i, err)
		}
	}
	return len(content)
}

func checkPages(t *testing.T, fd int, content [][]byte) {
	t.Helper()
	for i, page := range content {
		checkPage(t, fd, i, page)
	}
}

func checkPage(t *testing.T, fd, number int, want []byte) {
	t.Helper()
	mustRead(t, fd, want, int64(number)*pageSize)
}
