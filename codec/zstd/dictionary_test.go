// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/internal/pages"
)

// trained returns a dictionary for pages.
func trained(tb testing.TB, pages [][]byte) *Dictionary {
	tb.Helper()
	data, err := Train(pages, MinLevel, 16<<10)
	if err != nil {
		tb.Fatal(err)
	}
	d, err := NewDictionary(data)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// newDictPair returns an encoder and a decoder with a dictionary.
func newDictPair(tb testing.TB, level int, dict *Dictionary) (*Encoder, *Decoder) {
	tb.Helper()
	enc, err := NewDictionaryEncoder(level, dict)
	if err != nil {
		tb.Fatal(err)
	}
	dec, err := NewDictionaryDecoder(dict)
	if err != nil {
		tb.Fatal(err)
	}
	return enc, dec
}

func TestF015DictionaryLossless(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		t.Parallel()
		dict := trained(t, base[:300])
		for level, share := range map[int]int{1: 20, 3: 100, 6: 500, 19: 20_000} {
			enc, dec := newDictPair(t, level, dict)
			page, back, object := make([]byte, MaxSize), make([]byte, MaxSize), make([]byte, MaxObject)
			for i := range max(codectest.Rounds()/share, 4) {
				codectest.Derive(page, base, i)
				n, err := enc.Compress(object, page)
				if err != nil || n == 0 {
					t.Fatalf("level %d, page %d: compress gave %d bytes: %v", level, i, n, err)
				}
				if err := dec.DecompressDictionary(back, object[:n]); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("level %d, page %d: came back different, or %v", level, i, err)
				}
			}
		}
	})
}

func TestF015DictionaryShortBuffers(t *testing.T) {
	enc, dec := newDictPair(t, 1, trained(t, codectest.Generated()[:300]))
	object, back := make([]byte, MaxObject), make([]byte, MaxSize)
	for n := 1; n <= MaxSize; n += codectest.Stride() {
		src := codectest.Generated()[n-1][:n]
		size, err := enc.Compress(object, src)
		if err != nil || size == 0 {
			t.Fatalf("%d bytes: compress gave %d bytes: %v", n, size, err)
		}
		if err := dec.DecompressDictionary(back[:n], object[:size]); err != nil || !bytes.Equal(back[:n], src) {
			t.Fatalf("%d bytes came back different, or %v", n, err)
		}
	}
}

// With its header back, an object is a frame that any decoder with the dictionary reads. The number
// of a dictionary takes 1 to 4 bytes of it.
func TestF015ObjectIsAFramesBlock(t *testing.T) {
	original := trained(t, codectest.Generated()[:300]).data
	for _, id := range []uint32{1, 255, 256, 65535, 65536, 1<<32 - 1} {
		data := bytes.Clone(original)
		data[4], data[5], data[6], data[7] = byte(id), byte(id>>8), byte(id>>16), byte(id>>24)
		dict, err := NewDictionary(data)
		if err != nil || dict.ID() != id {
			t.Fatalf("ID %d: %v", id, err)
		}
		plain, err := zstd.NewReader(nil, zstd.WithDecoderDicts(data))
		if err != nil {
			t.Fatal(err)
		}
		enc, _ := newDictPair(t, 1, dict)
		object := make([]byte, MaxObject)
		for i, page := range codectest.Generated()[:100] {
			n, err := enc.Compress(object, page)
			if err != nil {
				t.Fatal(err)
			}
			dict.seal(object)
			var header [maxFrameHeader]byte
			frame := append(header[:putFrameHeader(&header, len(page), dict)], object[:n]...)
			if back, err := plain.DecodeAll(frame, nil); err != nil || !bytes.Equal(back, page) {
				t.Fatalf("ID %d, page %d: came back different, or %v", id, i, err)
			}
		}
		plain.Close()
	}
}

// A changed bit does no harm, and the decoder reads the next object as if nothing had been.
func TestDictionaryBitFlipsDoNoHarm(t *testing.T) {
	enc, dec := newDictPair(t, 1, trained(t, codectest.Generated()[:300]))
	object, back := make([]byte, MaxObject), make([]byte, MaxSize)
	refused := 0
	for i, page := range codectest.Generated()[:20] {
		n, err := enc.Compress(object, page)
		if err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < n*8; bit += codectest.Stride() {
			object[bit/8] ^= 1 << (bit % 8)
			if err := dec.DecompressDictionary(back, object[:n]); err != nil {
				refused++
				if !errors.Is(err, ErrCorrupt) || errors.Is(err, errPanic) {
					t.Fatalf("object %d, bit %d: got %v", i, bit, err)
				}
			}
			object[bit/8] ^= 1 << (bit % 8)
		}
		if err := dec.DecompressDictionary(back, object[:n]); err != nil || !bytes.Equal(back, page) {
			t.Fatalf("object %d, after its flipped copies: came back different, or %v", i, err)
		}
	}
	if refused == 0 {
		t.Error("no flipped bit was ever refused")
	}
}

// Bytes that are almost a dictionary are refused or are one; nothing panics on the way to the first
// page.
func TestDamagedDictionaries(t *testing.T) {
	good := trained(t, codectest.Generated()[:300]).data
	page, object := codectest.Generated()[0], make([]byte, MaxObject)
	taken := 0
	for at := range 300 {
		for _, change := range []byte{1, 0x80, 0xFF} {
			data := bytes.Clone(good)
			data[at] ^= change
			dict, err := NewDictionary(data)
			if err != nil {
				if !errors.Is(err, ErrDictionary) {
					t.Fatalf("byte %d: got %v", at, err)
				}
				continue
			}
			if at%20 != 0 {
				continue
			}
			enc, err := NewDictionaryEncoder(1, dict)
			if err != nil {
				continue
			}
			if _, err := enc.Compress(object, page); err == nil {
				taken++
			}
		}
	}
	if taken == 0 {
		t.Error("no changed dictionary was ever taken")
	}
}

func TestTrainIsRepeatable(t *testing.T) {
	base := codectest.Generated()[:150]
	first, err := Train(base, 1, 8<<10)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if again, err := Train(base, 1, 8<<10); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("another dictionary the second time, or %v", err)
		}
	}
}

func TestTrainKeepsToItsSize(t *testing.T) {
	for _, size := range []int{MinDictionary, 10_000, 64 << 10, MaxDictionary} {
		for level, sort := range map[int]pages.Kind{1: pages.Text, 3: pages.Pointers, 6: pages.SparseInts} {
			data, err := Train(pages.Generate(sort, 100, 1), level, size)
			if err != nil || len(data) > size {
				t.Errorf("%d bytes: got %d, %v", size, len(data), err)
			}
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	base := codectest.Generated()[:100]
	same := make([][]byte, 200)
	for i := range same {
		same[i] = make([]byte, MaxSize)
	}
	for what, c := range map[string]struct {
		pages       [][]byte
		level, size int
		want        error
	}{
		"no level":   {base, 0, 16 << 10, ErrLevel},
		"too small":  {base, 1, MinDictionary - 1, ErrDictionary},
		"too large":  {base, 1, MaxDictionary + 1, ErrDictionary},
		"short page": {[][]byte{base[0][:100]}, 1, 16 << 10, ErrSize},
		"no pages":   {nil, 1, 16 << 10, ErrTraining},
		"one page":   {base[:1], 1, 16 << 10, ErrTraining},
		"zero pages": {same, 1, 16 << 10, ErrTraining},
	} {
		if data, err := Train(c.pages, c.level, c.size); !errors.Is(err, c.want) || data != nil {
			t.Errorf("%s: got %d bytes, %v", what, len(data), err)
		}
	}
}
