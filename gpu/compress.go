// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// longestObject is the longest object that package codec keeps: which pages are stored raw must not
// depend on the engine that compressed them.
const longestObject = codec.PageSize - codec.PageSize/16

// The layout of a slot's buffer on the way back: the cursor in a sector of its own, results,
// objects.
const resultsAt = sectorBytes

func arenaAt(n int) int { return resultsAt + n*kernels.ResultSize }

// errResult: a kernel returned an impossible result.
var errResult = errors.New("kernel's result makes no sense")

// compress compresses the items, in as many rounds as needed.
func (s *slot) compress(ctx context.Context, p bulk.Piece) error {
	at := 0
	for rest := p.Items; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.items = s.items[:0]
		for len(rest) > 0 && len(s.items) < cap(s.items) {
			if i := rest[0]; p.Verdict[i] == bulk.Pending {
				s.items = append(s.items, i)
			}
			rest = rest[1:]
		}
		if len(s.items) == 0 {
			return nil
		}
		var err error
		if at, err = s.compressRound(p, at); err != nil {
			return err
		}
	}
	return nil
}

// compressRound compresses the items of the round and packs their objects from at on into the
// piece's own part of the arena. It returns where they end.
func (s *slot) compressRound(p bulk.Piece, at int) (int, error) {
	n := len(s.items)
	s.ins = s.movePages(s.ins[:0], p, s.in, 0)
	for _, m := range s.ins {
		for k := m.first; k < m.last && !m.straight; k++ {
			copy(s.in.Bytes()[k*codec.PageSize:], p.Page(int(s.items[k])))
		}
	}
	s.outs = append(s.outs[:0], move{host: s.out.Slice(0, arenaAt(n))})
	in, out := uint64(s.deviceIn), uint64(s.deviceOut)
	granules := n * codec.PageSize / kernels.GranuleSize
	err := s.run(round{
		kernel: s.engine.kernels[lz4Compress], cleared: sectorBytes,
		args: []uint64{in, out + resultsAt, out + uint64(arenaAt(n)), out, uint64(granules), longestObject, uint64(n)},
	})
	if err != nil {
		return at, err
	}
	taken := int(binary.LittleEndian.Uint32(s.out.Bytes()))
	if taken > granules {
		return at, fmt.Errorf("%w: %d granules of %d are taken", errResult, taken, granules)
	}
	if taken > 0 {
		if err := s.fetch(arenaAt(n), taken*kernels.GranuleSize); err != nil {
			return at, err
		}
	}
	arena := s.out.Bytes()[arenaAt(n) : arenaAt(n)+taken*kernels.GranuleSize]
	for k, i := range s.items {
		r := kernels.ReadResult(s.out.Bytes()[resultsAt+k*kernels.ResultSize:])
		if at, err = s.store(p, i, r, arena, at); err != nil {
			return at, err
		}
	}
	return at, nil
}

// store verifies one object and copies it to its place.
func (s *slot) store(p bulk.Piece, i uint32, r kernels.Result, arena []byte, at int) (int, error) {
	own, page, length := p.Own()[at:], p.Page(int(i)), 0
	switch r.Kind {
	case kernels.KindLZ4:
		end := r.Offset + uint64(r.Length)
		if r.Length == 0 || r.Length > longestObject || end > uint64(len(arena)) {
			return at, fmt.Errorf("%w: item %d has %d bytes at %d of %d", errResult, i, r.Length, r.Offset, len(arena))
		}
		length = copy(own, arena[r.Offset:end])
		// A stored object is sealed with the hash of its page, whatever it decompresses to, so it
		// is decompressed first. The CPU takes a tenth of the time for this that it takes to
		// compress.
		if err := lz4.Decompress(s.proof[:], own[:length]); err != nil || !bytes.Equal(s.proof[:], page) {
			return at, fmt.Errorf("%w: the object of item %d does not become its page", errComputes, i)
		}
	case kernels.KindSame:
		// The maker of a batch usually leaves same-filled pages out. The kernel makes no object of
		// one.
		if binary.LittleEndian.Uint64(page) != r.Word || !bytes.Equal(page[8:], page[:len(page)-8]) {
			return at, fmt.Errorf("%w: item %d is %#x throughout for the device, and not for the CPU", errResult, i, r.Word)
		}
		var err error
		if length, err = s.encoder.Compress(own[:longestObject], page); err != nil {
			return at, fmt.Errorf("compress item %d: %w", i, err)
		}
	case kernels.KindRaw:
	default:
		return at, fmt.Errorf("%w: item %d is of kind %s", errResult, i, r.Kind)
	}
	if p.Hash != nil {
		p.Hash[i] = r.Hash
	}
	s.done++
	if length == 0 {
		p.StoredRaw(i)
		return at, nil
	}
	p.Stored(i, codec.LZ4, p.At+at, length)
	return at + length, nil
}
