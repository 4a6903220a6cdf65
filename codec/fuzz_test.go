// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// FuzzDecompress feeds anything to every codec. The answer must be ErrCorrupt or fill the page,
// twice the same.
func FuzzDecompress(f *testing.F) {
	for _, name := range []string{"page", "page:dense", "lz4", "zstd(level=1)", "zstd", "raw"} {
		w := newWorker(f, name)
		for _, page := range codectest.Generated()[:8] {
			id, object, err := w.compress(page)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(id), object)
			f.Add(uint8(id), object[:len(object)/2])
		}
	}
	f.Add(uint8(None), []byte{})
	f.Add(uint8(LZ4), []byte{0xF0, 0xFF, 0xFF, 0xFF})       // literals without end
	f.Add(uint8(LZ4), []byte{0x1F, 0x00, 0x01, 0x00, 0xFF}) // a match without end
	f.Add(uint8(LZ4), []byte{0x10, 0x00, 0xFF, 0xFF})       // a distance to before the page
	f.Add(uint8(Zstd), []byte{0x03, 0x80, 0x00, 0x00})      // one byte repeated
	f.Add(uint8(Zstd), []byte{0xFD, 0xFF, 0xFF, 0x00})      // the largest block size
	a, b := newWorker(f, "raw"), newWorker(f, "raw")
	f.Fuzz(func(t *testing.T, id uint8, object []byte) {
		err := a.d.Decompress(a.back[:], ID(id), object)
		if again := b.d.Decompress(b.back[:], ID(id), object); (err == nil) != (again == nil) {
			t.Fatalf("first %v, then %v", err, again)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v", err)
		}
		if err == nil && a.back != b.back {
			t.Fatal("two pages from one object")
		}
	})
}

// FuzzRoundTrip sends pages made of anything through every algorithm. The input is repeated to a
// page, with one byte of each repetition changed, so that a short input makes a page that
// compresses without being one word repeated.
func FuzzRoundTrip(f *testing.F) {
	for _, page := range codectest.Generated()[:8] {
		f.Add(page, uint16(0))
		f.Add(page[:200], uint16(3))
	}
	f.Add([]byte{0}, uint16(0))
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), uint16(9))
	var workers []*worker
	for _, name := range fast() {
		workers = append(workers, newWorker(f, name))
	}
	page := make([]byte, PageSize)
	f.Fuzz(func(t *testing.T, seed []byte, change uint16) {
		if len(seed) == 0 {
			return
		}
		for at, turn := 0, 0; at < PageSize; turn++ {
			n := copy(page[at:], seed)
			page[at+int(change)%n] += byte(turn)
			at += n
		}
		for i, w := range workers {
			if _, _, err := w.roundTrip(page); err != nil {
				t.Fatalf("%s: %v", fast()[i], err)
			}
		}
	})
}
