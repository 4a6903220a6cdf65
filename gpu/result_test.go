// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// An answer that no kernel can give is refused: a device that sees other memory than the CPU would
// otherwise decide what pages consist of.
func TestResultsThatMakeNoSense(t *testing.T) {
	b := bulk.NewBatch(bulk.Compress, 1)
	b.Pages = text(1)
	first := binary.LittleEndian.Uint64(b.Pages)
	s, p, arena := &slot{}, piece(b), make([]byte, codec.PageSize)
	zeros, err := new(lz4.Encoder).Compress(arena, make([]byte, codec.PageSize))
	if err != nil {
		t.Fatal(err)
	}
	own, err := new(lz4.Encoder).Compress(arena[64:], b.Pages)
	if err != nil {
		t.Fatal(err)
	}
	hash := bulk.Hash(b.Pages)
	proved := func(at, length int) kernels.Result {
		return kernels.Result{Hash: hash, Word: bulk.Hash(arena[at : at+length]), Offset: uint64(at), Length: uint32(length)}
	}
	otherPage, otherObject := proved(64, own), proved(64, own)
	otherPage.Hash++
	otherObject.Word++
	for name, r := range map[string]kernels.Result{
		"zeros":          {Kind: kernels.KindSame},
		"its first word": {Kind: kernels.KindSame, Word: first},
		"an empty one":   {Kind: kernels.KindLZ4},
		"too long":       {Kind: kernels.KindLZ4, Length: longestObject + 1},
		"too far behind": {Kind: kernels.KindLZ4, Offset: codec.PageSize - 16, Length: 17},
		"no proof":       {Kind: kernels.KindLZ4, Offset: 64, Length: uint32(own)},
		"another page":   otherPage,
		"another object": otherObject,
		"no object":      proved(32, 16),
		"another page's": proved(0, zeros),
		"no space":       {Kind: kernels.KindNoSpace},
		"another kind":   {Kind: 77},
	} {
		n, err := s.place(p, 0, r, arena, 0)
		if err == nil {
			s.items, s.offsets = []uint32{0}, []int{0, n}
			err = s.keep(p, 0, r, arena)
		}
		if !errors.Is(err, errResult) && !errors.Is(err, errComputes) || b.Verdict[0] != bulk.Pending {
			t.Errorf("%s: %v, %d bytes, the page %s", name, err, n, b.Verdict[0])
		}
	}
	s.items, s.offsets = []uint32{0}, []int{0, own}
	if err := s.keep(p, 0, proved(64, own), arena); err != nil {
		t.Error(err)
	}
}

// A device whose kernels make other pages of objects than the CPU is not used, however sure it is
// that all is well.
func TestDeviceThatComputesSomethingElse(t *testing.T) {
	e := openEngine(t, simulated(1), Options{Batch: 8, Path: Copied, Driver: driver.Options{Limit: patience}})
	defer e.Close()
	if err := e.measure(); err != nil {
		t.Fatal(err)
	}
	own := e.kernels
	for name, swap := range map[string][2]int{
		"no pages of LZ4":        {lz4Decompress, lz4Verify},
		"no pages of our format": {pageDecompress, pageVerify},
		"other hashes of LZ4":    {lz4Verify, lz4Decompress},
		"other hashes of ours":   {pageVerify, pageDecompress},
	} {
		e.kernels[swap[0]] = own[swap[1]] // takes the same, and says of the same objects that they are right
		if err := e.measure(); !errors.Is(err, errComputes) {
			t.Errorf("%s: %v", name, err)
		}
		e.kernels = own
	}
}

// A device that makes other pages or hashes than it made when the engine was opened, and is sure of
// them, ends its pieces, and the CPU does them.
func TestDeviceThatBreaksLater(t *testing.T) {
	for name, c := range map[string]struct {
		op     bulk.Op
		codec  string
		is, by int // the kernel that is exchanged for another
	}{
		"no pages of LZ4":        {bulk.Decompress, "lz4", lz4Decompress, lz4Verify},
		"no pages of our format": {bulk.Decompress, "page", pageDecompress, pageVerify},
		"other hashes of LZ4":    {bulk.Verify, "lz4", lz4Verify, lz4Decompress},
		"other hashes of ours":   {bulk.Verify, "page", pageVerify, pageDecompress},
	} {
		for _, path := range []Path{Copied, Straight} {
			e := openEngine(t, simulated(1), Options{Batch: 24, Slots: 2, Path: path, Driver: driver.Options{Limit: patience}})
			e.kernels[c.is] = e.kernels[c.by]
			p := newPlanner(t, bulk.EnginesAlone, e)
			b := objectsBy(t, text(60), false, c.codec)
			got, want := copyOf(b, c.op), copyOf(b, c.op)
			got.Pages = aligned(len(b.Pages))
			if path == Straight {
				register(t, p, got.Pages, true)
			}
			r := run(t, p, got)
			run(t, newPlanner(t, bulk.CPUAlone), want)
			same(t, got, want)
			if r.Engines[1].Failures == 0 || !errors.Is(r.Engines[1].Err, errComputes) || r.Engines[1].Items > 0 {
				t.Errorf("%s, %v: the engine did %d items and failed %d times, %v", name, path, r.Engines[1].Items, r.Engines[1].Failures, r.Engines[1].Err)
			}
			if path == Straight {
				if err := p.Unregister(got.Pages); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
