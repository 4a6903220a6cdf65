// SPDX-License-Identifier: Apache-2.0

//go:build !race

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"testing"
)

// A fullKeeper locks the pieces that it had locked before it was full, and no others.
type fullKeeper struct {
	locked map[[2]int64]bool
	full   bool
	last   [2]int64 // asked for
}

func (k *fullKeeper) Write(p []byte) (int, error) {
	k.last = [2]int64{int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))}
	return len(p), nil
}

func (k *fullKeeper) Read(p []byte) (int, error) {
	p[0] = 0
	if !k.full {
		k.locked[k.last] = true
	} else if !k.locked[k.last] {
		p[0] = 1
	}
	return 1, nil
}

// A keeper that can lock no more is no reason not to serve what it has locked: a worker that
// carries on then has no memory for writes.
func TestOpenWithAKeeperThatLocksNoMore(t *testing.T) {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	keeper := &fullKeeper{locked: map[[2]int64]bool{}}
	mem.LockVia(keeper)
	s, err := Create(mem, withAlgorithm(t, Config{Disksize: 1 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	want := content{1, 1, random}.bytes()
	write(t, s, 1, want)
	only := s.image.SegmentAt(s.idx.load(1).Segment())
	maps.DeleteFunc(keeper.locked, func(piece [2]int64, _ bool) bool { return piece[0] >= s.image.SegmentAt(0) && piece[0] != only })
	finish(t, s)
	keeper.full = true
	if s, err = Open(mem, withAlgorithm(t, Config{})); err != nil {
		t.Fatalf("nothing is served: %v", err)
	}
	if !bytes.Equal(read(t, s, 1), want) {
		t.Error("the page is wrong")
	}
	if err := tryWrite(s, 2, 1); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want ErrFull: nobody holds the memory that it takes", err)
	}
	finish(t, s)
	if err := mem.Close(); err != nil {
		t.Error(err)
	}
}
