// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// The writes that a worker leaves at the memory limit keep its successor from serving no longer
// than they would have waited, although there is a backing device.
func TestLeftWritesAtTheLimit(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	const limit, budget, pages, chunk, writers = 16 << 20, 6 << 20, 20000, 32, 3
	dir := mount(t, "--size", "128M", "--mem-limit", strconv.Itoa(limit), "--spill", backingFile(t, 4*budget), "--spill-daily", strconv.Itoa(budget), "--cold", "off")
	fd := openData(t, dir, unix.O_DIRECT)
	var stop atomic.Bool
	var all sync.WaitGroup
	for g := range uint64(writers) {
		all.Go(func() {
			data, rng := make([]byte, chunk*pageSize), rand.NewChaCha8([32]byte{byte(g)})
			for !stop.Load() {
				_, _ = rng.Read(data)
				_, _ = fd.WriteAt(data, int64(rng.Uint64()%(pages/chunk))*chunk*pageSize) // it may be full
			}
		})
	}
	defer func() { stop.Store(true); all.Wait() }()
	within(t, answerTimeout, "the budget is spent", func() bool { return strings.Contains(statusOf(t, dir).Spill.Reason, "24 hours") })
	for range 3 {
		killWorker(t, dir)
		begun := time.Now()
		page := make([]byte, pageSize)
		if _, err := unix.Pread(int(fd.Fd()), page, 0); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("a read waited for %v", took)
		}
	}
}
