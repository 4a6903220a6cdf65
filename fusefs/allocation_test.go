// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"math/rand/v2"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// TestPagePathAllocatesNothing counts what requests allocate from where go-fuse
// calls us on down: nothing, at any length and alignment.
func TestPagePathAllocatesNothing(t *testing.T) {
	const size, longest = 16 << 20, 1 << 20
	f := newTestFileSystem(t, size)
	buf := make([]byte, longest)
	rng := rand.New(rand.NewPCG(10, 11))
	for i := range buf {
		buf[i] = byte(rng.Uint32N(20)) // compresses, and not into one word
	}
	vector := [][]byte{buf}
	for name, c := range map[string]struct {
		off uint64
		n   int
	}{
		"a page":         {8192, pageSize},
		"a MiB":          {1 << 20, longest},
		"part of a page": {100, 200},
		"parts":          {4000, 9000},
		"at the end":     {size - 100, 200},
	} {
		read := &fuse.ReadIn{InHeader: dataHeader(), Offset: c.off, Size: uint32(c.n)}
		write := &fuse.WriteIn{InHeader: dataHeader(), Offset: c.off, Size: uint32(c.n)}
		vector[0] = buf[:c.n]
		for verb, request := range map[string]func() fuse.Status{
			"writev": func() fuse.Status {
				_, status := f.Writev(nil, write, vector)
				return status
			},
			"write": func() fuse.Status {
				_, status := f.Write(nil, write, vector[0])
				return status
			},
			"read": func() fuse.Status {
				r, status := f.Read(nil, read, buf[:c.n])
				if status.Ok() {
					_, status = r.Bytes(buf)
					r.Done()
				}
				return status
			},
			"punch": func() fuse.Status {
				if _, status := f.Writev(nil, write, vector); !status.Ok() {
					return status
				}
				return f.Fallocate(nil, &fuse.FallocateIn{InHeader: dataHeader(), Mode: punchHole, Offset: c.off, Length: uint64(c.n)})
			},
		} {
			status := request() // whatever is made on first use
			got := testing.AllocsPerRun(50, func() { status = max(status, request()) })
			if got != 0 || !status.Ok() {
				t.Errorf("%s of %s allocates %v times, status %v", verb, name, got, status)
			}
		}
	}
}

// TestResultsRunOut takes more results than there are.
func TestResultsRunOut(t *testing.T) {
	all := newResults()
	var taken []*result
	for range resultsKept + 3 {
		taken = append(taken, all.take([]byte{1, 2, 3}))
	}
	for _, r := range taken {
		if got, _ := r.Bytes(nil); len(got) != 3 || r.Size() != 3 {
			t.Fatalf("a result of %d bytes, size %d", len(got), r.Size())
		}
		r.Done()
	}
	if len(all.free) != resultsKept {
		t.Errorf("%d results are free afterwards, want %d", len(all.free), resultsKept)
	}
}
