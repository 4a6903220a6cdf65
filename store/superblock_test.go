// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/store/internal/image"
)

// TestRestoreSuperblock flips each bit of the superblock: the copy is restored, and the image opens
// with what it held.
func TestRestoreSuperblock(t *testing.T) {
	mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: 16 << 20})
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	page := content{7, 1, random}.bytes()
	write(t, s, 7, page)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := mem.Superblock()
	if err != nil {
		t.Fatal(err)
	}
	if restored, err := mem.RestoreSuperblock(kept); restored || err != nil {
		t.Errorf("a superblock that is whole was restored: %v, %v", restored, err)
	}
	for bit := range len(kept) * 8 {
		damaged := bytes.Clone(kept)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := mem.writeAt(damaged, 0); err != nil {
			t.Fatal(err)
		}
		if restored, err := mem.RestoreSuperblock(kept); !restored || err != nil {
			t.Fatalf("bit %d: %v, %v", bit, restored, err)
		}
	}
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	if !bytes.Equal(read(t, s, 7), page) {
		t.Error("the page differs")
	}
}

// TestRestoreNoOtherSuperblock has a copy of a larger image, and a damaged one.
func TestRestoreNoOtherSuperblock(t *testing.T) {
	var images [2]*Memory
	for i, size := range []uint64{16 << 20, 32 << 20} {
		images[i] = newMemory(t)
		s, err := Create(images[i], withAlgorithm(t, Config{Disksize: size}))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	other, err := images[1].Superblock()
	if err != nil {
		t.Fatal(err)
	}
	if restored, err := images[0].RestoreSuperblock(other); restored || !errors.Is(err, ErrGeometry) {
		t.Errorf("the superblock of a larger image: %v, %v", restored, err)
	}
	other[0]++
	if restored, err := images[0].RestoreSuperblock(other); restored || !errors.Is(err, ErrMagic) {
		t.Errorf("a damaged copy: %v, %v", restored, err)
	}
}

// The image of a store that may take little memory has a segment more than fits into it.
func TestSegmentsForLittleMemory(t *testing.T) {
	const most = 64
	cfg := Config{Disksize: 1 << 30, MaxMemory: most * image.SegmentSize}
	if got := segmentsFor(cfg); got != most+1 {
		t.Errorf("%d segments, want %d", got, most+1)
	}
}
