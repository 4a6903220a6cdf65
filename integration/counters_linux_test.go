// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// A tally is how much of what a device has done.
type tally struct{ reads, writes, discards, pagesRead, pagesWritten, pagesDiscarded uint64 }

// tallyOf returns what a device says of itself, after a look at whether all its figures agree.
func tallyOf(t *testing.T, s status.Status) tally {
	t.Helper()
	of := map[string]status.Operation{}
	for i, o := range s.Operations {
		of[o.Op] = o
		count := o.Buckets.Count()
		ordered := o.P50 <= o.P90 && o.P90 <= o.P99 && o.P99 <= o.P999 && o.P999 <= o.Max
		if count != o.Requests || o.Errors != 0 || !ordered || (o.Requests > 0) != (o.P50 > 0 && o.SecondsTotal > 0) {
			t.Errorf("%d requests in the histogram of %+v", count, o)
		}
		if i == len(s.Batches) { // a flush has no pages
			continue
		}
		batched := uint64(0)
		for _, size := range s.Batches[i].Sizes {
			batched += size[1]
		}
		if s.Batches[i].Op != o.Op || batched != o.Requests {
			t.Errorf("batches %+v of %d requests", s.Batches[i], o.Requests)
		}
	}
	if s.IO.Reads != of["read"].Pages || s.IO.Writes != of["write"].Pages || s.IO.Discards != of["discard"].Pages {
		t.Errorf("pages %+v, operations %+v", s.IO, s.Operations)
	}
	return tally{of["read"].Requests, of["write"].Requests, of["discard"].Requests, of["read"].Pages, of["write"].Pages, of["discard"].Pages}
}

// wantTally waits until a device has counted what was done: a thread counts a request once it has
// answered it.
func wantTally(t *testing.T, dir, when string, want tally) {
	t.Helper()
	s := statusOf(t, dir)
	counted := func() bool {
		read, write, discard := s.Operations[0], s.Operations[1], s.Operations[2]
		return tally{read.Requests, write.Requests, discard.Requests, s.IO.Reads, s.IO.Writes, s.IO.Discards} == want &&
			read.Pages == want.pagesRead && write.Pages == want.pagesWritten && discard.Pages == want.pagesDiscarded
	}
	for end := time.Now().Add(time.Second); !counted() && time.Now().Before(end); {
		s = statusOf(t, dir)
	}
	if got := tallyOf(t, s); got != want {
		t.Errorf("%s it says %+v, want %+v", when, got, want)
	}
}

// work writes, reads and discards a known number of pages.
func work(t *testing.T, fd int, round byte) tally {
	t.Helper()
	content := make([]byte, 16*pageSize)
	for i := range content {
		content[i] = byte(i/3) ^ round
	}
	for n := range int64(40) {
		if wrote, err := unix.Pwrite(fd, content[:pageSize], n*pageSize); wrote != pageSize || err != nil {
			t.Fatalf("write page %d: %d, %v", n, wrote, err)
		}
	}
	for n := range int64(5) {
		if wrote, err := unix.Pwrite(fd, content, (64+16*n)*pageSize); wrote != len(content) || err != nil {
			t.Fatalf("write 16 pages: %d, %v", wrote, err)
		}
	}
	for range 30 {
		mustRead(t, fd, content[:pageSize], 7*pageSize)
	}
	for range 7 {
		mustRead(t, fd, content, 64*pageSize)
	}
	for n := range int64(3) {
		if err := unix.Fallocate(fd, punchHole, (64+4*n)*pageSize, 4*pageSize); err != nil {
			t.Fatal(err)
		}
	}
	return tally{30 + 7, 40 + 5, 3, 30 + 7*16, 40 + 5*16, 3 * 4}
}

// TestCountersAreTheDevices compares the counters with what was done, before and after its worker
// is killed and replaced.
func TestCountersAreTheDevices(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	fd := int(openData(t, dir, unix.O_DIRECT).Fd())
	c := newCrashing(t, dir)
	var want tally
	for round, between := range []func(){func() {}, c.kill, func() { mustRun(t, commandTimeout, "upgrade", dir) }} {
		between()
		wantTally(t, dir, fmt.Sprintf("before round %d", round), want)
		done := work(t, fd, byte(round))
		want = tally{want.reads + done.reads, want.writes + done.writes, want.discards + done.discards, want.pagesRead + done.pagesRead,
			want.pagesWritten + done.pagesWritten, want.pagesDiscarded + done.pagesDiscarded}
		wantTally(t, dir, fmt.Sprintf("after round %d", round), want)
	}
	if stat := attribute(t, dir, "io_stat"); stat != fmt.Sprintf("%8d %8d 0 %8d\n", 0, 0, want.pagesDiscarded) {
		t.Errorf("io_stat says %q of %d discarded pages", stat, want.pagesDiscarded)
	}
}
