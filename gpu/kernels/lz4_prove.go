// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// LZ4Prove builds lz4_prove, which decompresses the objects that [LZ4Compress] made, where they
// are, and replaces the hash and the word in their results by the hashes of the decompressed page
// and of the object. It takes the pages from the last one on, so that a warp's memory does not
// still have the page that it was compressed from.
func LZ4Prove() (*ptx.Kernel, error) {
	w := newWarp("lz4_prove", lz4WarpsPerBlock, lz4WarpBytes)
	results, arena := w.ParamGlobal("results"), w.ParamGlobal("arena")
	w.pages = w.ParamU32("n")
	reciprocal := w.reciprocal()
	w.eachPage(func(page ptx.U32) {
		result := results.Index(w.pages.Sub(n(1)).Sub(page), ResultSize)
		place := result.At(ResultSize / 2).LoadV4() // granule, length, kind
		object, length := arena.Index(place[0], GranuleSize), place[1]
		w.If(place[2].Eq(n(int(KindLZ4))), func() {
			status := w.lz4Object(object, length, reciprocal)
			hash, bytes := ptx.NewVar(w.Builder, ptx.N64(0)), ptx.NewVar(w.Builder, ptx.N64(0))
			w.If(status.Eq(n(StatusOK)), func() {
				hash.Set(w.hashPage())
				bytes.Set(w.hashObject(object, length))
			})
			w.When(w.first(), func() {
				result.StoreU64(hash.Get())
				result.At(ResultSize / 4).StoreU64(bytes.Get())
			})
		})
	})
	return w.Build()
}

// granulesOf returns how many granules an object takes.
func granulesOf(length ptx.U32) ptx.U32 { return length.Add(n(GranuleSize - 1)).Shr(n(4)) }
