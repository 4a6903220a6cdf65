// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

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
		if m.straight {
			continue
		}
		p.Spread(m.last-m.first, func(from, to int) {
			for k := m.first + from; k < m.first+to; k++ {
				copy(s.in.Bytes()[k*codec.PageSize:], p.Page(int(s.items[k])))
			}
		})
	}
	s.outs = append(s.outs[:0], move{host: s.out.Slice(0, arenaAt(n))})
	in, out := uint64(s.deviceIn), uint64(s.deviceOut)
	granules := n * codec.PageSize / kernels.GranuleSize
	results, arena := out+resultsAt, out+uint64(arenaAt(n))
	err := s.run(round{cleared: sectorBytes, launches: []launch{
		{s.engine.kernels[lz4Compress], []uint64{in, results, arena, out, uint64(granules), longestObject, uint64(n)}},
		{s.engine.kernels[lz4Prove], []uint64{results, arena, uint64(n)}},
	}})
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
	return s.store(p, s.out.Bytes()[arenaAt(n):arenaAt(n)+taken*kernels.GranuleSize], at)
}

// result returns the kernel's result for item number k of the round.
func (s *slot) result(k int) kernels.Result {
	return kernels.ReadResult(s.out.Bytes()[resultsAt+k*kernels.ResultSize:])
}

// store verifies the round's objects and copies them to their places, from at on. It returns where
// they end.
func (s *slot) store(p bulk.Piece, arena []byte, at int) (int, error) {
	s.offsets = s.offsets[:0]
	for k, i := range s.items {
		s.offsets = append(s.offsets, at)
		n, err := s.place(p, i, s.result(k), arena, at)
		if err != nil {
			return at, err
		}
		at += n
	}
	s.offsets = append(s.offsets, at)
	var failed atomic.Pointer[error]
	p.Spread(len(s.items), func(from, to int) {
		for k := from; k < to; k++ {
			if err := s.keep(p, k, s.result(k), arena); err != nil {
				failed.Store(&err)
				return
			}
		}
	})
	if err := failed.Load(); err != nil {
		return at, *err
	}
	s.done += int64(len(s.items))
	return at, nil
}

// place returns how many bytes of the piece's part of the arena an item takes, 0 if it is stored
// raw, and makes the object of a same-filled page there.
func (s *slot) place(p bulk.Piece, i uint32, r kernels.Result, arena []byte, at int) (int, error) {
	switch r.Kind {
	case kernels.KindLZ4:
		if end := r.Offset + uint64(r.Length); r.Length == 0 || r.Length > longestObject || end > uint64(len(arena)) {
			return 0, fmt.Errorf("%w: item %d has %d bytes at %d of %d", errResult, i, r.Length, r.Offset, len(arena))
		}
		return int(r.Length), nil
	case kernels.KindSame:
		// The maker of a batch usually leaves same-filled pages out. The kernel makes no object of
		// one.
		page := p.Page(int(i))
		if binary.LittleEndian.Uint64(page) != r.Word || !bytes.Equal(page[8:], page[:len(page)-8]) {
			return 0, fmt.Errorf("%w: item %d is %#x throughout for the device, and not for the CPU", errResult, i, r.Word)
		}
		n, err := s.encoder.Compress(p.Own()[at:at+longestObject], page)
		if err != nil {
			return 0, fmt.Errorf("compress item %d: %w", i, err)
		}
		return n, nil
	case kernels.KindRaw:
		return 0, nil
	}
	return 0, fmt.Errorf("%w: item %d is of kind %s", errResult, i, r.Kind)
}

// keep copies the object of item number k of the round to its place, verifies and records it.
func (s *slot) keep(p bulk.Piece, k int, r kernels.Result, arena []byte) error {
	i, at, end := s.items[k], s.offsets[k], s.offsets[k+1]
	var hash uint64
	if p.Hash != nil || r.Kind == kernels.KindLZ4 {
		hash = bulk.Hash(p.Page(int(i)))
	}
	if p.Hash != nil {
		p.Hash[i] = hash
	}
	if at == end {
		p.StoredRaw(i)
		return nil
	}
	if r.Kind == kernels.KindLZ4 {
		own := p.Own()[at:end]
		copy(own, arena[r.Offset:])
		if r.Hash != hash || r.Word != bulk.Hash(own) || k%sampled == 0 && !becomes(own, p.Page(int(i))) {
			return fmt.Errorf("%w: the object of item %d does not become its page", errComputes, i)
		}
	}
	p.Stored(i, codec.LZ4, p.At+at, end-at)
	return nil
}

// sampled is the distance between two items of a round whose objects the CPU decompresses itself,
// of rounds that read as well: see slot.agrees. A stored object is sealed with the hash of its
// page, whatever it decompresses to, so it is proved first: the device decompresses what it has
// made with another kernel, and the CPU compares its own hashes of the page, and of the object
// where it stays, with the device's. That takes a core less than half the time that decompressing
// all of them takes.
const sampled = 16

// becomes reports whether the object decompresses to the page.
func becomes(object, page []byte) bool {
	proof := proofs.Get().(*[codec.PageSize]byte)
	defer proofs.Put(proof)
	return lz4.Decompress(proof[:], object) == nil && bytes.Equal(proof[:], page)
}

// proofs are pages to decompress objects to.
var proofs = sync.Pool{New: func() any { return new([codec.PageSize]byte) }}
