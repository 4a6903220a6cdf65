// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// A compressor that has seen other pages gives the same object as one that has seen none.
func TestF016NoStateBetweenPages(t *testing.T) {
	base := codectest.Generated()
	eachAlgorithm(t, fast(), func(t *testing.T, name string, w *worker) {
		for i := range len(base) / codectest.Stride() {
			id, object, err := w.roundTrip(base[i])
			if err != nil {
				t.Fatal(err)
			}
			if i%100 != 0 {
				continue
			}
			freshID, fresh, err := newWorker(t, name).compress(base[i])
			if err != nil {
				t.Fatal(err)
			}
			if id != freshID || !bytes.Equal(object, fresh) {
				t.Fatalf("page %d: %s of %d bytes from a used compressor, %s of %d from a fresh one, or other bytes", i, id, len(object), freshID, len(fresh))
			}
		}
	})
}

// The same pages in another order give the same objects, from another compressor.
func TestF018SameInputSameOutput(t *testing.T) {
	base := codectest.Generated()[:500]
	eachAlgorithm(t, every(), func(t *testing.T, name string, w *worker) {
		objects := make([]stored, len(base))
		for i, page := range base {
			id, object, err := w.compress(page)
			if err != nil {
				t.Fatal(err)
			}
			objects[i] = stored{id, slices.Clone(object)}
		}
		other := newWorker(t, name)
		for i := len(base) - 1; i >= 0; i-- {
			id, object, err := other.compress(base[i])
			if err != nil {
				t.Fatal(err)
			}
			if id != objects[i].id || !bytes.Equal(object, objects[i].object) {
				t.Fatalf("page %d: another object the second time", i)
			}
		}
	})
}

// One decompressor reads all of them in any order: a device whose algorithm was changed.
func TestOneDecompressorReadsEveryAlgorithm(t *testing.T) {
	var writers []*worker
	for _, name := range every() {
		writers = append(writers, newWorker(t, name))
	}
	reader := newWorker(t, "lz4")
	for i, page := range codectest.Generated()[:1000] {
		id, object, err := writers[i%len(writers)].compress(page)
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.d.Decompress(reader.back[:], id, object); err != nil || !bytes.Equal(reader.back[:], page) {
			t.Fatalf("page %d by %s came back different, or %v", i, every()[i%len(writers)], err)
		}
	}
}
