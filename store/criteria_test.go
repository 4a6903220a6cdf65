// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/invariant"
)

// F019: a million operations leave no more behind than the first ten thousand:
// resident memory, goroutines, descriptors, bytes of the Go heap.
func TestF019NothingLeaks(t *testing.T) {
	ops := 1_000_000
	if testing.Short() || raceEnabled {
		ops = 50_000
	}
	s := newStore(t, Config{Disksize: 16 << 20})
	churn(t, s, 10_000)
	before := leftBehind(t, s)
	churn(t, s, ops)
	after := leftBehind(t, s)
	t.Logf("after 10,000 operations %+v, after %d more %+v", before, ops, after)
	if after.goroutines > before.goroutines || after.descriptors > before.descriptors ||
		after.heap > before.heap+1<<20 || after.image > before.image+8<<20 || after.resident > before.resident+16<<20 {
		t.Error("something leaks")
	}
}

// churn does operations of every sort.
func churn(t *testing.T, s *Store, n int) {
	t.Helper()
	contents := make([][]byte, 200)
	for i := range contents {
		contents[i] = content{uint32(i), uint32(i), contentKind(i) % contentKinds}.bytes()
	}
	rng := rand.New(rand.NewPCG(19, 19))
	p := make([]byte, PageSize)
	for range n {
		w, page := s.Acquire(), rng.Uint64N(s.Pages())
		var err error
		switch what := rng.IntN(8); what {
		case 0:
			w.Discard(page, 1+rng.Uint64N(4))
		case 1:
			err = w.Zero(page, 100, 50)
		case 2, 3:
			err = w.Read(page, 0, p)
		case 4:
			err = w.Write(page, 512, p[:1024])
		default:
			err = w.Write(page, 0, contents[rng.IntN(len(contents))])
		}
		w.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
}

type leavings struct {
	goroutines, descriptors int
	heap, image, resident   int64 // bytes
}

// leftBehind measures once everything has come to rest.
func leftBehind(t *testing.T, s *Store) leavings {
	t.Helper()
	w := s.Acquire()
	w.Discard(0, s.Pages())
	w.Release()
	for deadline := time.Now().Add(5 * time.Second); s.emptySegments() > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l := leavings{goroutines: runtime.NumGoroutine(), heap: int64(m.HeapAlloc), image: s.used()}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	l.descriptors = len(fds)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	if _, err := fmt.Sscan(string(statm), &size, &l.resident); err != nil {
		t.Fatal(err)
	}
	l.resident *= int64(os.Getpagesize())
	return l
}

// F078: what a reader may be using is not freed, and what was freed cannot be
// taken for data: it is filled with a pattern, its segment's next use is not what
// an old entry asks for, and an old entry yields ErrCorrupt at every stage.
func TestF078NoUseAfterFree(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs the self-checks: go test -tags invariants")
	}
	s := newStore(t, Config{Disksize: 16 << 20, Algorithm: algorithm(t, "raw")})
	old := content{5, 1, random}
	write(t, s, 5, old.bytes())
	reader := s.Acquire()
	defer reader.Release()
	reader.beginRead()
	e := s.idx.load(5)
	write(t, s, 5, content{5, 2, random}.bytes()) // replaced under the reader
	p := make([]byte, PageSize)
	for range 3 * maxRetired / 2 / 8 { // much else goes on, short of what would have to wait for the reader
		write(t, s, 9, content{9, 9, random}.bytes())
	}
	if err := reader.load(5, e, 0, p); err != nil || !bytes.Equal(p, old.bytes()) {
		t.Errorf("a page was freed under its reader: %v", err)
	}
	reader.endRead()
	for deadline := time.Now().Add(5 * time.Second); !allBytes(s.image.Payload(e.Where(), e.Length()), invariant.Freed); {
		write(t, s, 9, content{9, 9, random}.bytes())
		if time.Now().After(deadline) {
			t.Fatal("the page was not freed after its reader left")
		}
	}
	for round := range uint32(20) { // its segment is freed, and used again
		if err := reader.load(5, e, 0, p); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("an entry that was replaced yields a page: %v", err)
		}
		for page := range uint64(200) {
			write(t, s, 100+page, content{uint32(page), round, random}.bytes())
		}
	}
}
