// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// A page is one with data, by its number: its codec and its object or word.
type page struct {
	number uint64
	id     codec.ID
	data   []byte
}

// small has pages of every kind, at the ends of blocks and of the device.
var small = []page{
	{0, codec.None, []byte("12345678")}, {7, codec.LZ4, []byte("object")}, {1023, codec.Page, []byte{1}},
	{1024, codec.ZstdDict, bytes.Repeat([]byte("xy"), 20)}, {5000, codec.Raw, bytes.Repeat([]byte("r"), codec.PageSize)}, {5001, codec.Zstd, []byte("last")},
}

var smallHeader = Header{Pages: 5002, Algorithm: "zstd(dict=/d)", Dictionary: []byte("dictionary")}

// parts returns the parts of a snapshot.
func parts(t testing.TB, h Header, pages []page, oneMoment bool) (all [][]byte) {
	t.Helper()
	e := NewEncoder()
	header, err := e.Header(h)
	if err != nil {
		t.Fatal(err)
	}
	add := func(p []byte) {
		if len(p) > 0 {
			all = append(all, bytes.Clone(p))
		}
	}
	add(header)
	e.Begin(0)
	first := uint64(0)
	for _, p := range pages {
		if p.number/BlockPages != first/BlockPages {
			add(e.Block())
			first = p.number / BlockPages * BlockPages
			e.Begin(first)
		}
		if p.id == codec.None {
			e.Word(p.number, binary.LittleEndian.Uint64(p.data))
		} else {
			e.Object(p.number, p.id, p.data)
		}
	}
	add(e.Block())
	end, _ := e.Trailer(oneMoment)
	add(end)
	return all
}

// readAll reads a snapshot to its end.
func readAll(file []byte) (h Header, pages []page, end Trailer, err error) {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return h, nil, end, err
	}
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Header, pages, r.Trailer, nil
		}
		if err != nil {
			return r.Header, pages, end, err
		}
		for i, n := range b.Page {
			if !bytes.Equal(file[b.ObjectOffset(i):][:b.Length[i]], b.Object(i)) {
				return h, pages, end, errors.New("ObjectOffset is wrong")
			}
			pages = append(pages, page{b.First + uint64(n), b.ID[i], bytes.Clone(b.Object(i))})
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range []struct {
		h     Header
		pages []page
	}{
		{smallHeader, small}, {Header{Pages: 1, Dictionary: []byte{}}, nil}, {Header{Pages: 1 << 40, Algorithm: "lz4", Dictionary: []byte{}}, []page{{1<<40 - 1, codec.LZ4, []byte("x")}}},
	} {
		file := bytes.Join(parts(t, c.h, c.pages, true), nil)
		h, pages, end, err := readAll(file)
		if err != nil || !reflect.DeepEqual(h, c.h) || !reflect.DeepEqual(pages, c.pages) {
			t.Errorf("%+v, %v, %v, want %+v, %v", h, pages, err, c.h, c.pages)
		}
		if want := sha256.Sum256(file[:len(file)-36]); end.Data != uint64(len(c.pages)) || !end.OneMoment || end.Digest != want {
			t.Errorf("the trailer is %+v, with SHA-256 %x", end, want)
		}
		if len(c.pages) > 0 && end.End != c.pages[len(c.pages)-1].number+1 {
			t.Errorf("the last page is %d", end.End-1)
		}
	}
	if _, _, end, err := readAll(bytes.Join(parts(t, smallHeader, small, false), nil)); err != nil || end.OneMoment {
		t.Errorf("%+v, %v", end, err)
	}
}

// A bit that flips anywhere is damage of the part that it lies in, and so is the end of the file
// before its end.
func TestDamageEverywhere(t *testing.T) {
	all := parts(t, smallHeader, small, true)
	file, at := bytes.Join(all, nil), int64(0)
	for i, part := range all {
		for n := range part {
			for _, bit := range []byte{1, 0x10, 0x80} {
				file[int(at)+n] ^= bit
				_, _, _, err := readAll(file)
				file[int(at)+n] ^= bit
				var d *DamageError
				switch {
				case i == 0 && n < 8:
					if !errors.Is(err, ErrNoSnapshot) {
						t.Fatalf("magic: %v", err)
					}
				case i == 0 && n < 12:
					if v := VersionError(0); !errors.As(err, &v) {
						t.Fatalf("version: %v", err)
					}
				case !errors.As(err, &d) || d.Offset != at:
					t.Fatalf("byte %d of part %d at %d: %v", n, i, at, err)
				}
			}
			_, _, _, err := readAll(file[:int(at)+n])
			if d := (*DamageError)(nil); !errors.As(err, &d) && !errors.Is(err, ErrNoSnapshot) || d != nil && d.Offset != at {
				t.Fatalf("cut at byte %d of part %d at %d: %v", n, i, at, err)
			}
		}
		at += int64(len(part))
	}
	_, _, _, err := readAll(file)
	if err != nil {
		t.Error(err)
	}
}

// Parts that are right by themselves make no snapshot in another order or number.
func TestPartsOfOtherSnapshots(t *testing.T) {
	a := parts(t, smallHeader, small, true)
	other := append([]page{}, small...)
	other[1].data = []byte("Object")
	b := parts(t, smallHeader, other, true)
	for name, c := range map[string]struct {
		parts [][]byte
		want  string
	}{
		"a block is missing":    {[][]byte{a[0], a[1], a[3], a[4]}, "block 2 is here in place of block 1"},
		"two change places":     {[][]byte{a[0], a[2], a[1], a[3], a[4]}, "block 1 is here in place of block 0"},
		"one comes twice":       {[][]byte{a[0], a[1], a[1], a[2], a[3], a[4]}, "block 0 is here in place of block 1"},
		"the end comes early":   {[][]byte{a[0], a[1], a[2], a[4]}, "does not agree"},
		"bytes follow":          {[][]byte{a[0], a[1], a[2], a[3], a[4], {0}}, "bytes, and its end says"},
		"a block of another":    {[][]byte{a[0], b[1], a[2], a[3], a[4]}, "checksum of the whole"},
		"the header of another": {[][]byte{parts(t, Header{Pages: 5002, Algorithm: "zstd(dict=/e)", Dictionary: []byte("dictionary")}, nil, true)[0], a[1], a[2], a[3], a[4]}, "checksum of the whole"},
	} {
		if _, _, _, err := readAll(bytes.Join(c.parts, nil)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Fields that no Encoder writes are refused although their checksums are right.
func TestWrongFields(t *testing.T) {
	put := func(at int, v uint32) func([]byte) {
		return func(p []byte) { binary.LittleEndian.PutUint32(p[at:], v) }
	}
	for name, c := range map[string]struct {
		part   int
		change func([]byte)
		want   string
	}{
		"device of 0 pages":     {0, put(16, 0), "a device of 0 pages"},
		"device too large":      {0, put(20, 1<<20), "a device of"},
		"name too long":         {0, put(24, 1<<31), "lengths in the header"},
		"dictionary too long":   {0, put(28, 1<<31), "lengths in the header"},
		"unaligned block":       {1, put(8, 1), "block of page 1 of"},
		"block beyond":          {3, put(8, 8192), "block of page 8192 of"},
		"block before another":  {2, put(8, 0), "block of page 0 of"},
		"no record":             {1, put(16, 0), "lengths of the block"},
		"many records":          {1, put(16, 1025), "lengths of the block"},
		"payload too long":      {1, put(20, 4*4096), "lengths of the block"},
		"pages not in order":    {1, put(28, uint32(newRecord(0, codec.LZ4, 6))), "not in order"},
		"page beyond":           {3, put(28, uint32(newRecord(5100, codec.Zstd, 4))), "page 5100 of 5002"},
		"unknown codec":         {1, put(28, uint32(newRecord(7, 9, 6))), "page 7 has 6 bytes of codec id 9"},
		"short word":            {1, put(24, uint32(newRecord(0, codec.None, 7))), "page 0 has 7 bytes of codec none"},
		"short raw page":        {3, put(24, uint32(newRecord(5000, codec.Raw, 4095))), "page 5000 has 4095 bytes of codec raw"},
		"bit beyond the record": {1, put(28, uint32(newRecord(7, codec.LZ4, 6))|1<<27), "codec lz4 in record 0x"},
		"last bit of a record":  {1, put(28, uint32(newRecord(7, codec.LZ4, 6))|1<<31), "codec lz4 in record 0x"},
		"short objects":         {1, put(28, uint32(newRecord(7, codec.LZ4, 5))), "not as long"},
		"flags":                 {4, put(32, 2), "does not agree"},
		"pages of the end":      {4, put(8, 7), "does not agree"},
		"last page of the end":  {4, put(16, 7), "does not agree"},
		"blocks of the end":     {4, put(4, 7), "does not agree"},
	} {
		all := parts(t, smallHeader, small, true)
		p := all[c.part]
		c.change(p)
		all[c.part] = seal(p[:len(p)-sumSize])
		var d *DamageError
		if _, _, _, err := readAll(bytes.Join(all, nil)); !errors.As(err, &d) || !strings.Contains(d.What, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// An Encoder refuses a header that no Reader takes.
func TestWrongHeaders(t *testing.T) {
	for _, h := range []Header{{}, {Pages: 1<<40 + 1}, {Pages: 1, Algorithm: strings.Repeat("x", 4097)}, {Pages: 1, Dictionary: make([]byte, codec.MaxDictionary+1)}} {
		if _, err := NewEncoder().Header(h); err == nil {
			t.Errorf("a header of %d pages, %d and %d bytes is written", h.Pages, len(h.Algorithm), len(h.Dictionary))
		}
	}
}

// failing is a file that cannot be read from an offset on.
type failing struct {
	*bytes.Reader
	from int64
	err  error
}

func (f failing) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.from {
		return 0, f.err
	}
	return f.Reader.ReadAt(p, at)
}

// A file that cannot be read, or becomes shorter, is not called damaged.
func TestUnreadable(t *testing.T) {
	all := parts(t, smallHeader, small, true)
	file := bytes.Join(all, nil)
	for _, c := range []struct{ err, want error }{{io.ErrClosedPipe, io.ErrClosedPipe}, {io.EOF, io.ErrUnexpectedEOF}} {
		r, err := NewReader(failing{bytes.NewReader(file), int64(len(all[0]) + len(all[1])), c.err}, int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

// FuzzReader wants what a Reader accepts to be what an Encoder makes of the same pages.
func FuzzReader(f *testing.F) {
	all := parts(f, smallHeader, small, true)
	for i := range all {
		f.Add(bytes.Join(all[:i+1], nil), false)
		f.Add(bytes.Join(append(append([][]byte{}, all[:i]...), all[i+1:]...), nil), true)
	}
	f.Fuzz(func(t *testing.T, file []byte, repair bool) {
		if repair {
			file = resealed(file)
		}
		h, pages, end, err := readAll(file)
		var d *DamageError
		var v VersionError
		switch {
		case err == nil:
			if !bytes.Equal(bytes.Join(parts(t, h, pages, end.OneMoment), nil), file) {
				t.Error("an Encoder writes another file")
			}
		case !errors.As(err, &d) && !errors.As(err, &v) && !errors.Is(err, ErrNoSnapshot):
			t.Error(err)
		case d != nil && (d.Offset < 0 || d.Offset > int64(len(file)) || d.Page > maxPages+BlockPages):
			t.Errorf("%+v in %d bytes", d, len(file))
		}
	})
}

// resealed makes the checksums of what looks like parts right, so that fields are reached.
func resealed(file []byte) []byte {
	file = bytes.Clone(file)
	fix := func(at, n uint64) uint64 {
		if n < sumSize || at+n > uint64(len(file)) {
			return uint64(len(file))
		}
		copy(file[at:at+n], seal(bytes.Clone(file[at:at+n-sumSize])))
		return at + n
	}
	if len(file) < headerSize {
		return file
	}
	for at := fix(0, uint64(binary.LittleEndian.Uint32(file[12:]))); at+blockSize <= uint64(len(file)); {
		p := file[at:]
		if string(p[:4]) == blockMagic {
			at = fix(at, blockSize+recordSize*uint64(binary.LittleEndian.Uint32(p[16:]))+uint64(binary.LittleEndian.Uint32(p[20:]))+sumSize)
			continue
		}
		if len(p) >= trailerSize {
			sum := sha256.Sum256(file[:at+digestAt])
			copy(p[digestAt:], sum[:])
		}
		at = fix(at, trailerSize)
	}
	return file
}
