// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/internal/pages"
)

// compressing returns the algorithms that compress, all but raw.
func compressing() []string {
	names := every()
	return names[:len(names)-1]
}

func TestF003ZeroPage(t *testing.T) {
	eachAlgorithm(t, every(), func(t *testing.T, _ string, w *worker) {
		if _, _, err := w.roundTrip(make([]byte, PageSize)); err != nil {
			t.Error(err)
		}
	})
}

func TestF004RandomPageIsRaw(t *testing.T) {
	eachAlgorithm(t, every(), func(t *testing.T, _ string, w *worker) {
		for i, page := range pages.Generate(pages.Random, 50, 4) {
			id, object, err := w.roundTrip(page)
			if err != nil {
				t.Fatal(err)
			}
			if id != Raw || len(object) != PageSize {
				t.Errorf("page %d: stored as %s in %d bytes", i, id, len(object))
			}
		}
	})
}

func TestF006ZeroPageTakesUnder100Bytes(t *testing.T) {
	eachAlgorithm(t, compressing(), func(t *testing.T, _ string, w *worker) {
		_, object, err := w.roundTrip(make([]byte, PageSize))
		if err != nil || len(object) >= 100 {
			t.Errorf("%d bytes, %v", len(object), err)
		}
	})
}

func TestF007RepeatedByteIs100To1(t *testing.T) {
	eachAlgorithm(t, compressing(), func(t *testing.T, _ string, w *worker) {
		for value := range 256 {
			_, object, err := w.roundTrip(bytes.Repeat([]byte{byte(value)}, PageSize))
			if err != nil || len(object) > PageSize/100 {
				t.Fatalf("value %d: %d bytes, %v", value, len(object), err)
			}
		}
	})
}

func TestF008TextAndBinaryCompresses(t *testing.T) {
	text, binary := pages.Generate(pages.Text, 50, 8), pages.Generate(pages.Pointers, 50, 8)
	eachAlgorithm(t, compressing(), func(t *testing.T, name string, w *worker) {
		sum := 0
		for i := range text {
			page := append(text[i][:PageSize/2:PageSize/2], binary[i][:PageSize/2]...)
			id, object, err := w.roundTrip(page)
			if err != nil {
				t.Fatal(err)
			}
			sum += len(object)
			// lz4:fast looks at every fourth byte, where words hardly ever begin: some of these
			// pages gain nothing.
			if name != "lz4:fast" && (id == Raw || len(object) > PageSize*7/8) {
				t.Errorf("page %d: stored as %s in %d bytes", i, id, len(object))
			}
		}
		if sum > len(text)*PageSize*15/16 {
			t.Errorf("%d pages take %d bytes", len(text), sum)
		}
	})
}

func TestF011KeptOnlyIfSmaller(t *testing.T) {
	codectest.EachSource(t, func(t *testing.T, base [][]byte) {
		eachAlgorithm(t, fast(), func(t *testing.T, name string, w *worker) {
			counts := map[ID]int{}
			for i := 0; i < len(base); i += 1 + len(base)*codectest.Stride()/4000 {
				id, object, err := w.roundTrip(base[i])
				if err != nil {
					t.Fatalf("page %d: %v", i, err)
				}
				counts[id]++
				switch {
				case id == Raw && len(object) != PageSize:
					t.Fatalf("page %d: raw in %d bytes", i, len(object))
				case id != Raw && len(object) > PageSize-PageSize/16:
					t.Fatalf("page %d: %s in %d bytes", i, id, len(object))
				}
			}
			if compressed := counts[LZ4] + counts[Zstd] + counts[Page] + counts[PageDense]; (compressed == 0) != (name == "raw") {
				t.Errorf("the pages prove nothing: %v", counts)
			}
		})
	})
}
