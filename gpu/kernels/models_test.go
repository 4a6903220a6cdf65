// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/internal/pages"
)

// eachSource runs f on generated pages, and on real ones where some were sampled.
func eachSource(t *testing.T, n int, f func(t *testing.T, all [][]byte)) {
	t.Run("generated", func(t *testing.T) { f(t, spread(pages.Mix(2000, 11), n)) })
	t.Run("real", func(t *testing.T) { f(t, spread(pages.Real(t), n)) })
}

// fewer is n, or an eighth of it with -short: the race detector makes the simulator twenty times
// slower.
func fewer(n int) int {
	if testing.Short() {
		return n / 8
	}
	return n
}

// spread picks n pages from all over.
func spread(all [][]byte, n int) [][]byte {
	var some [][]byte
	for i := range n {
		some = append(some, all[i*len(all)/n])
	}
	return some
}

func lz4Object(t *testing.T, p []byte) []byte {
	t.Helper()
	var e lz4.Encoder
	object := make([]byte, lz4.MaxObject)
	n, err := e.Compress(object, p)
	if err != nil {
		t.Fatal(err)
	}
	return object[:n]
}

// pageObject is nil for a page that gains nothing.
func pageObject(t *testing.T, p []byte) []byte {
	t.Helper()
	var e page.Encoder
	object := make([]byte, page.MaxObject)
	n, err := e.Compress(object, p)
	if err != nil {
		t.Fatal(err)
	}
	return object[:n]
}

// damage returns objects that are like the given one, but mostly corrupt.
func damage(rng *rand.Rand, object []byte) []byte {
	object = bytes.Clone(object)
	switch rng.IntN(4) {
	case 0:
		return object[:rng.IntN(len(object)+1)]
	case 1:
		object[rng.IntN(len(object))] ^= 1 << rng.IntN(8)
	case 2:
		for range 1 + rng.IntN(3) {
			object[rng.IntN(min(len(object), 40))] = byte(rng.Uint32())
		}
	default:
		for range 1 + rng.IntN(3) {
			object[rng.IntN(len(object))] = byte(rng.Uint32() | rng.Uint32())
		}
	}
	return object
}

// The models are right: what they say of objects is what the codecs say.
func TestModelsAgreeWithTheCodecs(t *testing.T) {
	models := map[string]func(object []byte) ([]byte, bool){"lz4": modelLZ4, "page": modelPage}
	eachFormat(t, func(t *testing.T, f format) {
		rng := rand.New(rand.NewPCG(1, 2))
		eachSource(t, 100, func(t *testing.T, all [][]byte) {
			objects, _ := f.objects(t, all)
			var want [PageSize]byte
			for i := range fewer(4000) {
				object := objects[i%len(objects)]
				if i >= len(objects) {
					object = damage(rng, object)
				}
				err := f.codec(want[:], object)
				got, ok := models[f.name](object)
				if ok != (err == nil) || ok && !bytes.Equal(got, want[:]) {
					t.Fatalf("object %x: the model says %v, the codec %v", object, ok, err)
				}
			}
		})
	})
}
