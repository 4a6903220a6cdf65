// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
	"unsafe"

	"github.com/zramfs/zramfs/codec"
)

func TestLayoutIsFrozen(t *testing.T) {
	g := newGeometry(1<<30, 5000)
	for _, c := range []struct {
		what      string
		got, want uint64
	}{
		{"superblock size", uint64(binary.Size(superblock{})), 48},
		{"header size", uint64(unsafe.Sizeof(header{})), headerSize},
		{"header page", uint64(unsafe.Offsetof(header{}.Page)), 4},
		{"header length", uint64(unsafe.Offsetof(header{}.Length)), 8},
		{"header codec", uint64(unsafe.Offsetof(header{}.Codec)), 10},
		{"raw object", maxFootprint, 4112},
		{"entry", uint64(objectEntry(8*3, codec.Zstd, 4096)), 3<<53 | 4095<<41 | 3},
		{"renewals", renewalsOffset, 2048},
		{"same-filled words", sameOffset, 4096},
		{"index of 1 GiB", uint64(g.indexOffset), 10 * 4096},
		{"segments of 1 GiB", uint64(g.dataOffset), 9 * SegmentSize},
		{"size", uint64(g.size), 5009 * SegmentSize},
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
	walk("superblock", reflect.TypeFor[superblock]())
	walk("header", reflect.TypeFor[header]())
	walk("entry", reflect.TypeFor[entry]())
}

func TestEntryRoundTrip(t *testing.T) {
	for _, where := range []uint64{0, 8, SegmentSize - maxFootprint, maxSegments*SegmentSize - 8} {
		for _, length := range []int{1, 2, 4095, 4096} {
			for _, id := range []codec.ID{codec.Raw, codec.LZ4, codec.Zstd, 27} {
				e := objectEntry(where, id, length)
				if e.where() != where || e.length() != length || e.codec() != id || !e.object() || e.same() {
					t.Errorf("entry(%d, %d, %d) = %#x reads as (%d, %d, %d)", where, id, length, e, e.where(), e.codec(), e.length())
				}
				if to := e.at(0); to.where() != 0 || to.length() != length || to.codec() != id {
					t.Errorf("%#x moved to 0 reads as (%d, %d, %d)", e, to.where(), to.codec(), to.length())
				}
			}
		}
	}
}

func TestImpossibleEntries(t *testing.T) {
	const segments = 10
	for _, e := range []entry{
		objectEntry(segments*SegmentSize, codec.LZ4, 100),
		objectEntry(SegmentSize-8, codec.LZ4, 100),
		objectEntry(0, codec.None, 100),
		sameEntry(sameHalf, 1<<33),
		sameEntry(sameWordSlot, sameWords),
		sameEntry(31, 0),
	} {
		if e.valid(segments) {
			t.Errorf("%#x is taken for possible", e)
		}
	}
}

func TestSuperblockRefusesWhatIsNotOurs(t *testing.T) {
	good := superblock{
		Magic: magic, Version: layoutVersion, PageSize: PageSize, SegmentSize: SegmentSize,
		SameWords: sameWords, Disksize: 1 << 30, Segments: 100,
	}
	if _, err := decodeSuperblock(good.encode()); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*superblock)) []byte { b := good; f(&b); return b.encode() }
	flipped := good.encode()
	flipped[25] ^= 1
	for _, c := range []struct {
		name string
		p    []byte
		want error
	}{
		{"empty", nil, ErrMagic},
		{"zeros", make([]byte, 4096), ErrMagic},
		{"magic", change(func(b *superblock) { b.Magic[0]++ }), ErrMagic},
		{"version", change(func(b *superblock) { b.Version++ }), ErrVersion},
		{"bit", flipped, ErrChecksum},
		{"segment size", change(func(b *superblock) { b.SegmentSize *= 2 }), ErrGeometry},
		{"no size", change(func(b *superblock) { b.Disksize = 0 }), ErrGeometry},
		{"odd size", change(func(b *superblock) { b.Disksize++ }), ErrGeometry},
		{"huge", change(func(b *superblock) { b.Disksize = MaxDisksize + PageSize }), ErrGeometry},
		{"no segments", change(func(b *superblock) { b.Segments = 0 }), ErrGeometry},
		{"segments", change(func(b *superblock) { b.Segments = maxSegments + 1 }), ErrGeometry},
	} {
		if _, err := decodeSuperblock(c.p); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
