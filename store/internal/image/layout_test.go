// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
	"unsafe"

	"github.com/zramfs/zramfs/codec"
)

func TestLayoutIsFrozen(t *testing.T) {
	g := NewGeometry(1<<30, 5000)
	for _, c := range []struct {
		what      string
		got, want uint64
	}{
		{"superblock size", uint64(binary.Size(Superblock{})), 48},
		{"header size", uint64(unsafe.Sizeof(Header{})), HeaderSize},
		{"header page", uint64(unsafe.Offsetof(Header{}.Page)), 4},
		{"header length", uint64(unsafe.Offsetof(Header{}.Length)), 8},
		{"header codec", uint64(unsafe.Offsetof(Header{}.Codec)), 10},
		{"raw object", MaxFootprint, 4112},
		{"entry", uint64(ObjectEntry(8*3, codec.Zstd, 4096)), 3<<53 | 4095<<41 | 3},
		{"renewals", renewalsOffset, 2048},
		{"same-filled words", sameOffset, 4096},
		{"index of 1 GiB", uint64(g.IndexOffset), 10 * 4096},
		{"segments of 1 GiB", uint64(g.dataOffset), 9 * SegmentSize},
		{"size", uint64(g.Size), 5009*SegmentSize + 1<<30/PageSize},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, the format has %d", c.what, c.got, c.want)
		}
	}
}

// The image must mean the same to another process, and nothing to the garbage
// collector.
func TestLayoutHasNoPointer(t *testing.T) {
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(path+"."+typ.Field(i).Name, typ.Field(i).Type)
			}
		case reflect.Array:
			walk(path+"[]", typ.Elem())
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		default:
			t.Errorf("%s is a %s", path, typ.Kind())
		}
	}
	walk("superblock", reflect.TypeFor[Superblock]())
	walk("header", reflect.TypeFor[Header]())
	walk("entry", reflect.TypeFor[Entry]())
	walk("stub", reflect.TypeFor[Stub]())
}

func TestEntryRoundTrip(t *testing.T) {
	for _, where := range []uint64{0, 8, SegmentSize - MaxFootprint, MaxSegments*SegmentSize - 8} {
		for _, length := range []int{1, 2, 4095, 4096} {
			for _, id := range []codec.ID{codec.Raw, codec.LZ4, codec.Zstd, 27} {
				e := ObjectEntry(where, id, length)
				if e.Where() != where || e.Length() != length || e.Codec() != id || !e.Object() || e.Same() {
					t.Errorf("entry(%d, %d, %d) = %#x reads as (%d, %d, %d)", where, id, length, e, e.Where(), e.Codec(), e.Length())
				}
				if to := e.At(0); to.Where() != 0 || to.Length() != length || to.Codec() != id {
					t.Errorf("%#x moved to 0 reads as (%d, %d, %d)", e, to.Where(), to.Codec(), to.Length())
				}
			}
		}
	}
}

func TestImpossibleEntries(t *testing.T) {
	const segments = 10
	for _, e := range []Entry{
		ObjectEntry(segments*SegmentSize, codec.LZ4, 100),
		ObjectEntry(SegmentSize-8, codec.LZ4, 100),
		ObjectEntry(0, codec.None, 100),
		SameEntry(SameHalf, 1<<33),
		SameEntry(SameSlot, SameWords),
		SameEntry(31, 0),
	} {
		if e.Valid(segments) {
			t.Errorf("%#x is taken for possible", e)
		}
	}
}

func TestSuperblockRefusesWhatIsNotOurs(t *testing.T) {
	good := NewSuperblock(1<<30, 100, false)
	if _, err := DecodeSuperblock(good.Encode()); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*Superblock)) []byte { b := good; f(&b); return b.Encode() }
	flipped := good.Encode()
	flipped[25] ^= 1
	for _, c := range []struct {
		name string
		p    []byte
		want error
	}{
		{"empty", nil, ErrMagic},
		{"zeros", make([]byte, 4096), ErrMagic},
		{"magic", change(func(b *Superblock) { b.Magic[0]++ }), ErrMagic},
		{"older version", change(func(b *Superblock) { b.Version-- }), ErrVersion},
		{"version", change(func(b *Superblock) { b.Version++ }), ErrVersion},
		{"bit", flipped, ErrChecksum},
		{"segment size", change(func(b *Superblock) { b.SegmentSize *= 2 }), ErrGeometry},
		{"no size", change(func(b *Superblock) { b.Disksize = 0 }), ErrGeometry},
		{"odd size", change(func(b *Superblock) { b.Disksize++ }), ErrGeometry},
		{"huge", change(func(b *Superblock) { b.Disksize = MaxDisksize + PageSize }), ErrGeometry},
		{"no segments", change(func(b *Superblock) { b.Segments = 0 }), ErrGeometry},
		{"segments", change(func(b *Superblock) { b.Segments = MaxSegments + 1 }), ErrGeometry},
		{"stubs", change(func(b *Superblock) { b.Stubs = 2 }), ErrGeometry},
	} {
		if _, err := DecodeSuperblock(c.p); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
