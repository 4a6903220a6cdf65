// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// packedElsewhere is a page as another process would hand it in.
func packedElsewhere(t *testing.T, c codec.Compressor, page []byte) (codec.ID, []byte) {
	t.Helper()
	packed := make([]byte, PageSize)
	id, n, err := c.Compress(packed, page)
	if err != nil {
		t.Fatal(err)
	}
	if id == codec.Raw {
		return id, page
	}
	return id, packed[:n]
}

// An object that is put reads back, replaces a written page, and is replaced; the store's
// invariants hold.
func TestPutIsAWrite(t *testing.T) {
	for _, name := range append(codec.Algorithms(), "page:dense") {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, Config{Disksize: 4 << 20, Algorithm: algorithm(t, name)})
			c, err := algorithm(t, name).NewCompressor()
			if err != nil {
				t.Fatal(err)
			}
			for round := range uint32(3) {
				for page := range uint32(s.Pages()) {
					want := content{page, round, compressible + contentKind(page+round)%3}.bytes()
					if (page+round)%2 == 0 {
						write(t, s, uint64(page), want)
						continue
					}
					id, packed := packedElsewhere(t, c, want)
					w := s.Acquire()
					if err := w.Put(uint64(page), id, image.Seal(uint64(page), id, packed), packed); err != nil {
						t.Fatal(err)
					}
					w.Release()
				}
				for page := range uint32(s.Pages()) {
					if !bytes.Equal(read(t, s, uint64(page)), content{page, round, compressible + contentKind(page+round)%3}.bytes()) {
						t.Fatalf("page %d of round %d is wrong", page, round)
					}
				}
				holds(t, s)
			}
			if st := s.Stats(); st.Writes != 3*s.Pages() {
				t.Errorf("%d writes are counted", st.Writes)
			}
		})
	}
}

// Bytes that are no object, or have changed on their way, are refused and change nothing.
func TestPutRefuses(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	before := content{3, 1, random}.bytes()
	write(t, s, 3, before)
	good := []byte("an object is not looked into")
	sum := image.Seal(3, codec.Page, good)
	bad := bytes.Clone(good)
	bad[5] ^= 1
	w := s.Acquire()
	defer w.Release()
	for name, c := range map[string]struct {
		page   uint64
		id     codec.ID
		sum    uint32
		packed []byte
		want   error
	}{
		"beyond the device": {s.Pages(), codec.Page, image.Seal(s.Pages(), codec.Page, good), good, ErrRange},
		"far beyond":        {3 + 1<<32, codec.Page, sum, good, ErrRange},
		"another page":      {4, codec.Page, sum, good, ErrObject},
		"another codec":     {3, codec.LZ4, sum, good, ErrObject},
		"changed":           {3, codec.Page, sum, bad, ErrObject},
		"shorter":           {3, codec.Page, sum, good[:20], ErrObject},
		"nothing":           {3, codec.Page, image.Seal(3, codec.Page, nil), nil, ErrObject},
		"no codec":          {3, codec.None, image.Seal(3, codec.None, good), good, ErrObject},
		"a cluster":         {3, codec.ZstdCluster, image.Seal(3, codec.ZstdCluster, good), good, ErrObject},
		"same-filled":       {3, image.SameSmall, image.Seal(3, image.SameSmall, good), good, ErrObject},
		"short raw":         {3, codec.Raw, image.Seal(3, codec.Raw, good), good, ErrObject},
		"too long":          {3, codec.Page, image.Seal(3, codec.Page, make([]byte, PageSize+1)), make([]byte, PageSize+1), ErrObject},
	} {
		if err := w.Put(c.page, c.id, c.sum, c.packed); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if !bytes.Equal(read(t, s, 3), before) {
		t.Error("the page has changed")
	}
}

// A full store says so, and takes puts again when there is room.
func TestPutIntoAFullStore(t *testing.T) {
	s := newStore(t, Config{Disksize: 64 << 20, MemLimit: limitOf(64<<20, 16)})
	put := func(page uint64) error {
		packed := content{uint32(page), 1, random}.bytes()
		w := s.Acquire()
		defer w.Release()
		return w.Put(page, codec.Raw, image.Seal(page, codec.Raw, packed), packed)
	}
	page := uint64(0)
	for ; page < s.Pages(); page++ {
		if err := put(page); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if page < 100 || page == s.Pages() {
		t.Fatalf("it was full after %d pages", page)
	}
	w := s.Acquire()
	w.Discard(0, page/2)
	w.Release()
	if err := put(page); err != nil {
		t.Error(err)
	}
}
