// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// steppedDisk is the size of a device whose index is taken in steps.
const steppedDisk = 65 << 30

// newMemory makes a memory file that the test's end releases.
func newMemory(tb testing.TB) *Memory {
	tb.Helper()
	mem, err := NewMemory(MemoryAuto)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := mem.Close(); err != nil {
			tb.Error(err)
		}
	})
	return mem
}

// newStore opens a new store; the test's end checks its invariants.
func newStore(tb testing.TB, cfg Config) *Store {
	tb.Helper()
	s := mustCreate(tb, cfg)
	tb.Cleanup(func() { finish(tb, s) })
	return s
}

func mustCreate(tb testing.TB, cfg Config) *Store {
	tb.Helper()
	s, err := Create(newMemory(tb), withAlgorithm(tb, cfg))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func withAlgorithm(tb testing.TB, cfg Config) Config {
	tb.Helper()
	if cfg.Algorithm == (codec.Algorithm{}) {
		cfg.Algorithm = algorithm(tb, "adaptive")
	}
	return cfg
}

func algorithm(tb testing.TB, name string) codec.Algorithm {
	tb.Helper()
	a, err := codec.Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func finish(tb testing.TB, s *Store) {
	tb.Helper()
	holds(tb, s)
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}

func holds(tb testing.TB, s *Store) {
	tb.Helper()
	n := 0
	s.Check(func(err error) {
		if n++; n <= 10 {
			tb.Error(err)
		}
	})
}

func write(tb testing.TB, s *Store, page uint64, data []byte) {
	tb.Helper()
	w := s.Acquire()
	defer w.Release()
	if err := w.Write(page, 0, data); err != nil {
		tb.Fatalf("write page %d: %v", page, err)
	}
}

func read(tb testing.TB, s *Store, page uint64) []byte {
	tb.Helper()
	w := s.Acquire()
	defer w.Release()
	p := make([]byte, PageSize)
	if err := w.Read(page, 0, p); err != nil {
		tb.Fatalf("read page %d: %v", page, err)
	}
	return p
}

// A content is what a test writes to a page: it says which page and version it
// belongs to, in a form that the store treats in one of its ways.
type content struct {
	page    uint32
	version uint32
	kind    contentKind
}

type contentKind uint32

const (
	zeros contentKind = iota
	smallWord
	halfWord
	tableWord
	compressible
	barelyCompressible
	random
	alike // hardly compressible, and much as other pages of this kind
	contentKinds
)

// bytes makes the page: PageSize bytes that content and nothing else gives.
func (c content) bytes() []byte {
	p := make([]byte, PageSize)
	word := uint64(c.page)<<32 | uint64(c.version)
	switch c.kind {
	case zeros:
		return p
	case smallWord:
		word &= 1<<image.ValueBits - 1
	case halfWord:
		word = uint64(c.version) | uint64(c.version)<<32
	case tableWord:
		word |= 1 << 63
	default:
		c.mixed(p)
		return p
	}
	for i := 0; i < PageSize; i += 8 {
		binary.LittleEndian.PutUint64(p[i:], word)
	}
	return p
}

// mixed fills p with random bytes and, by kind, with repetitions.
func (c content) mixed(p []byte) {
	rng := rand.NewChaCha8([32]byte{byte(c.page), byte(c.page >> 8), byte(c.version), byte(c.version >> 8), byte(c.kind)})
	if c.kind == alike {
		rng = rand.NewChaCha8([32]byte{byte(c.kind)})
	}
	_, _ = rng.Read(p) // never fails
	binary.LittleEndian.PutUint32(p, c.page)
	binary.LittleEndian.PutUint32(p[4:], c.version)
	binary.LittleEndian.PutUint32(p[8:], uint32(c.kind))
	fresh := map[contentKind]int{compressible: 200 + int(c.version*97%1500), barelyCompressible: 3300, random: PageSize, alike: 2600}[c.kind]
	for i := fresh; i < PageSize; i += copy(p[i:], p[16:fresh]) {
	}
}

func TestReadsBackWhatWasWritten(t *testing.T) {
	for _, name := range append(codec.Algorithms(), "adaptive:entropy", "zstd(level=3)") {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Config{Disksize: 4 << 20, Algorithm: algorithm(t, name)})
			for round := range uint32(3) {
				for page := range uint32(s.Pages()) {
					c := content{page, round, contentKind((page + round) % uint32(contentKinds))}
					write(t, s, uint64(page), c.bytes())
				}
				for page := range uint32(s.Pages()) {
					c := content{page, round, contentKind((page + round) % uint32(contentKinds))}
					if !bytes.Equal(read(t, s, uint64(page)), c.bytes()) {
						t.Fatalf("page %d, version %d, kind %d: reads back as something else", page, round, c.kind)
					}
				}
				holds(t, s)
			}
		})
	}
}
