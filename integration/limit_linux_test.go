// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// packTime bounds the time in which a device gets below a limit that was lowered: some seconds,
// unless others use the processors.
const packTime = 40 * time.Second

// A memory limit below what is taken has the device pack pages until it fits. Until then reads go
// on, and writes that need memory fail with ENOSPC.
func TestLoweredLimitPacks(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "64M", "-a", "lz4")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	text := pages.Generate(pages.Text, 24<<20/pageSize, 22)
	if n := fill(t, fd, text); n != len(text) {
		t.Fatalf("%d of %d pages fit", n, len(text))
	}
	other := pages.Generate(pages.Random, 1, 23)[0]
	first := inUse(statusOf(t, dir).Memory)
	for _, c := range []struct {
		by  string
		to  uint64 // per cent of what was in use first; all pages joined take 63
		set func(limit uint64)
	}{
		{"set", 80, func(limit uint64) { mustRun(t, commandTimeout, "set", dir, fmt.Sprintf("mem-limit=%d", limit)) }},
		{"the attribute", 67, func(limit uint64) { setAttribute(t, dir, "mem_limit", fmt.Sprint(limit)) }},
	} {
		before := inUse(statusOf(t, dir).Memory)
		limit := first / 100 * c.to / pageSize * pageSize
		begun := time.Now()
		c.set(limit)
		within(t, answerTimeout, "writes fail", func() bool {
			_, err := unix.Pwrite(fd, other, int64(len(text))*pageSize)
			if err != nil && !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("a write beyond the limit: %v", err)
			}
			return err != nil
		})
		checkPages(t, fd, text)
		within(t, packTime, "the use falls below the limit", func() bool { return statusOf(t, dir).Memory.MemUsedTotal <= limit })
		t.Logf("limit by %s: %d KiB became less than %d KiB in %s", c.by, before>>10, limit>>10, time.Since(begun).Round(time.Millisecond))
		checkPages(t, fd, text)
	}
	if s := statusOf(t, dir); s.Cold.Pages == 0 || s.IO.FailedReads != 0 || s.Restarts != 0 {
		t.Errorf("packed: %+v, errors: %+v, %d workers died", s.Cold, s.IO, s.Restarts)
	}
	setAttribute(t, dir, "mem_limit", "48M")
	for i := range 1000 {
		if _, err := unix.Pwrite(fd, other, int64(len(text)+i)*pageSize); err != nil {
			t.Fatalf("a write below the limit: %v", err)
		}
	}
	checkPages(t, fd, text)
}

// A worker that takes the place of another keeps to the limit that was set since the device was
// made, also before it serves.
func TestNextWorkerKeepsTheLimit(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "4G", "-a", "raw", "--cold", "off")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	random := pages.Generate(pages.Random, 64<<20/pageSize, 24)
	if n := fill(t, fd, random); n != len(random) {
		t.Fatalf("%d of %d pages fit", n, len(random))
	}
	limit := (inUse(statusOf(t, dir).Memory) + 2<<20) / pageSize * pageSize
	setAttribute(t, dir, "mem_limit", fmt.Sprint(limit))
	within(t, answerTimeout, "the use falls below the limit", func() bool { return statusOf(t, dir).Memory.MemUsedTotal <= limit })
	setAttribute(t, dir, "mem_used_max", "0")
	killWorker(t, dir)
	if got := statusOf(t, dir); got.Restarts != 1 || got.Memory.MemUsedMax > limit {
		t.Errorf("%d restarts; %d KiB were taken at the most, the limit is %d KiB", got.Restarts, got.Memory.MemUsedMax>>10, limit>>10)
	}
	checkPages(t, fd, random)
}
