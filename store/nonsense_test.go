// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// An object whose checksum is right and that is none of its codec is damage to its pages, however
// they are read, and costs no others.
func TestSealedNonsenseIsCorrupt(t *testing.T) {
	s := mustCreate(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page"), Backing: newBacking(t, 100)})
	text := texts(1)[0]
	for page := range uint64(5 * image.ClusterPages) {
		write(t, s, page, text)
	}
	if did := join(t, s); did.Pages != 5*image.ClusterPages {
		t.Fatalf("%+v", did)
	}
	for page := range uint64(image.ClusterPages) {
		write(t, s, page, text)
	}
	mustWriteBack(t, s, WritebackConfig{Pages: []Selection{{First: 4, End: 8}}})
	spoiled := map[uint64]bool{}
	for _, page := range []uint64{2, 4, 9} { // an object of its own, a stub, a cluster
		e := s.idx.load(page)
		clear(s.image.Payload(e.Where(), e.Length()))
		s.image.HeaderAt(e.Where()).Checksum = s.image.Checksum(e.Where(), e.Length())
		for other := range s.sharing(page, e) {
			spoiled[other] = true
		}
		spoiled[page] = true
	}
	w, p := s.Acquire(), make([]byte, PageSize)
	for page := range uint64(5 * image.ClusterPages) {
		whole, part := w.Read(page, 0, p), w.Read(page, 100, p[:50])
		if spoiled[page] {
			if err := w.Write(page, 7, []byte("part")); !errors.Is(whole, ErrCorrupt) || !errors.Is(part, ErrCorrupt) || !errors.Is(err, ErrCorrupt) {
				t.Errorf("page %d: read %v and %v, written %v", page, whole, part, err)
			}
		} else if whole != nil || part != nil || !bytes.Equal(p[:50], text[100:150]) {
			t.Errorf("page %d: read %v and %v", page, whole, part)
		}
	}
	if n := uint64(len(spoiled)); s.Stats().FailedReads.Count != 2*n || s.Stats().FailedWrites.Count != n {
		t.Errorf("%d pages are damaged: %+v", n, s.Stats())
	}
	for page := range spoiled {
		if err := w.Write(page, 0, text); err != nil || w.Read(page, 0, p) != nil || !bytes.Equal(p, text) {
			t.Errorf("page %d is not repaired: %v", page, err)
		}
	}
	w.Release()
	s.die() // the block of the stub is lost, so Check would complain
}

// A store that cannot be made says why, and its memory serves the next one, but no second at the
// same time.
func TestCreateRefuses(t *testing.T) {
	mem, cfg := newMemory(t), Config{Disksize: 1 << 20}
	if err := mem.Check(); err != nil && mem.Kind() != MemoryHeap {
		t.Errorf("empty memory: %v", err)
	}
	if _, err := Create(mem, cfg); !errors.Is(err, codec.ErrUnknownAlgorithm) {
		t.Errorf("no algorithm: %v", err)
	}
	cfg.Algorithm = algorithm(t, "zstd(dict=missing)")
	if _, err := Create(mem, cfg); !errors.Is(err, codec.ErrDictionary) {
		t.Errorf("a dictionary that was not read: %v", err)
	}
	cfg.Algorithm = algorithm(t, "lz4")
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, 1, content{1, 1, random}.bytes())
	if mem.Kind() != MemoryHeap { // nothing is mapped there
		if _, err := Open(mem, cfg); err == nil {
			t.Error("a second store is opened")
		}
	}
	if !bytes.Equal(read(t, s, 1), content{1, 1, random}.bytes()) {
		t.Error("the page is not what it was")
	}
	s.image.Mem[0]++
	if _, err := mem.Superblock(); !errors.Is(err, ErrMagic) {
		t.Errorf("a damaged superblock: %v", err)
	}
	if err := mem.Check(); !errors.Is(err, ErrMagic) {
		t.Errorf("a damaged superblock: %v", err)
	}
	s.image.Mem[0]--
	finish(t, s)
}

// All that requests would touch first is made present before they do: of each worker, of the store,
// and of what is made later.
func TestPresentIsTold(t *testing.T) {
	told := 0
	mem, cfg := newMemory(t), Config{Disksize: 1 << 20, Workers: 4, Algorithm: algorithm(t, "page"), Prefault: func(v any) {
		if all, ok := v.([]any); ok && len(all) > 0 {
			told++
		} else if coders, ok := v.([]*coder); ok && len(coders) == 5 {
			told++
		}
	}}
	wants := func(what string, want int) {
		t.Helper()
		if told != want {
			t.Errorf("%s: told %d times, want %d", what, told, want)
		}
		told = 0
	}
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	wants("four workers, the maintainer's and the store", 6)
	if err := s.SetAlgorithm(algorithm(t, "page")); err != nil {
		t.Fatal(err)
	}
	wants("what workers compress with", 1)
	if _, err := s.NewRecompressor(RecompressConfig{Algorithm: algorithm(t, "zstd")}); err != nil {
		t.Fatal(err)
	}
	wants("a recompressor", 1)
	for page := range uint64(image.ClusterPages) {
		write(t, s, page, texts(1)[0])
	}
	join(t, s)
	wants("two readers of clusters, and what makes them", 3)
	finish(t, s)
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	wants("a store with clusters", 8)
	finish(t, s)
}
