// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
	"github.com/zramfs/zramfs/internal/pages"
)

// prove runs the proof of what c left, and returns the results after it.
func (d *device) prove(k *ptx.Kernel, c compressed) ([]Result, sim.Stats) {
	d.Helper()
	n := len(c.results)
	results := d.alloc(sim.Spec{Name: "results", Size: len(c.said), Stride: ResultSize}, c.said)
	stats := d.mustLaunch(k, n, results, d.input("arena", GranuleSize, c.arena[:c.used*GranuleSize]), uint64(n))
	return readResults(d.read(results, len(c.said))), stats
}

// Each object is proved by the page that the codec decompresses it to, damaged or not, and by its
// own bytes; the results of other pages stay as they are.
func TestProves(t *testing.T) {
	compressor, prover := build(t, LZ4Compress), build(t, LZ4Prove)
	rng := rand.New(rand.NewPCG(7, 8))
	eachSource(t, fewer(120), func(t *testing.T, all [][]byte) {
		all = append(all, hardPages()[0], make([]byte, PageSize), pages.Generate(pages.Random, 1, 1)[0])
		c := newDevice(t).compress(compressor, all, 256*len(all), PageSize)
		for _, damaged := range []bool{false, true} {
			for i, r := range c.results {
				if object := c.object(r); damaged && i%2 == 0 && r.Kind == KindLZ4 {
					object[rng.IntN(len(object))] ^= 1 << rng.IntN(8)
				}
			}
			results, _ := newDevice(t).prove(prover, c)
			for i, r := range results {
				if want := c.proved(i); r != want {
					t.Errorf("page %d: %+v, want %+v", i, r, want)
				}
			}
		}
	})
}

// proved is the result of page i after the proof, by the CPU.
func (c compressed) proved(i int) Result {
	r := c.results[i]
	if r.Kind != KindLZ4 {
		return r
	}
	var back [PageSize]byte
	r.Hash, r.Word = 0, 0
	if lz4.Decompress(back[:], c.object(r)) == nil {
		r.Hash, r.Word = Hash(back[:]), Hash(c.object(r))
	}
	return r
}

// The hash of an object tells objects apart that differ in a bit or in their length.
func TestHashTellsObjectsApart(t *testing.T) {
	seen := map[uint64]int{}
	zeros := make([]byte, PageSize)
	for length := range uint32(PageSize) {
		h := Hash(zeros[:length])
		if other, ok := seen[h]; ok {
			t.Fatalf("%d and %d zeros have the hash %#x", other, length, h)
		}
		seen[h] = int(length)
	}
	object := spread(hardPages(), 3)[1][:1000]
	for bit := range 8 * len(object) {
		object[bit/8] ^= 1 << (bit % 8)
		h := Hash(object)
		if other, ok := seen[h]; ok {
			t.Fatalf("bits %d and %d: hash %#x", other, bit, h)
		}
		seen[h] = -bit
		object[bit/8] ^= 1 << (bit % 8)
	}
}
