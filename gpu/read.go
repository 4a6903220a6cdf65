// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// Sizes of the reading kernels' arguments and results for each object.
const (
	addressBytes = 8
	lengthBytes  = 4
	statusBytes  = 4
	hashBytes    = 8
)

// read decompresses or verifies the items of one format, in as many rounds as needed.
func (s *slot) read(ctx context.Context, p bulk.Piece, id codec.ID) error {
	for rest := p.Items; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var bytes int
		if rest, bytes = s.choose(p, id, rest); len(s.items) == 0 {
			return nil
		}
		if err := s.readRound(p, id, bytes); err != nil {
			return err
		}
	}
}

// choose selects as many items for the next round as fit. It returns the remaining items, and the
// bytes of the objects to be copied. Items that cannot be objects stay Pending for the CPU.
func (s *slot) choose(p bulk.Piece, id codec.ID, from []uint32) (rest []uint32, bytes int) {
	longest := uint32(kernels.MaxLZ4Object)
	if id == codec.Page {
		longest = kernels.MaxPageObject
	}
	s.items = s.items[:0]
	for k, i := range from {
		if p.Verdict[i] != bulk.Pending || p.ID[i] != id || p.Length[i] == 0 || p.Length[i] > longest {
			continue
		}
		object, ok := p.Object(int(i))
		if !ok {
			continue
		}
		more := len(object)
		if s.inPlace(p, i) {
			more = 0
		}
		if len(s.items) == cap(s.items) || s.readSize(len(s.items)+1, bytes+more) > len(s.in.Bytes()) {
			return from[k:], bytes
		}
		s.items = append(s.items, i)
		bytes += more
	}
	return nil, bytes
}

// inPlace reports whether the kernel reads the object of item i where it is.
func (s *slot) inPlace(p bulk.Piece, i uint32) bool {
	return s.path == InPlace && s.regions[p.Region[i]].region != nil
}

// The layout of a slot's buffer on the way to the device: addresses, lengths, objects.
func lengthsAt(n int) int { return n * addressBytes }
func objectsAt(n int) int { return sectors(n * (addressBytes + lengthBytes)) }

// readSize returns how much of the buffer a round takes.
func (s *slot) readSize(n, bytes int) int { return sectors(objectsAt(n) + bytes) }

// readRound does the selected items.
func (s *slot) readRound(p bulk.Piece, id codec.ID, bytes int) error {
	n := len(s.items)
	size := s.readSize(n, s.findSpans(p, bytes))
	s.gather(p, size)
	s.ins = append(s.ins[:0], move{host: s.in.Slice(0, size)})
	for _, a := range s.spans {
		s.ins = append(s.ins, move{host: a.host.Slice(a.from, a.to-a.from), at: a.at, straight: true})
	}
	verify := p.Op == bulk.Verify
	kernel, each := lz4Decompress, codec.PageSize
	switch {
	case verify && id == codec.LZ4:
		kernel, each = lz4Verify, hashBytes
	case verify:
		kernel, each = pageVerify, hashBytes
	case id == codec.Page:
		kernel = pageDecompress
	}
	results := sectors(n * statusBytes)
	if s.outs = s.outs[:0]; s.pages.region != nil {
		s.outs = append(s.outs, move{host: s.out.Slice(0, results)})
		s.outs = s.movePages(s.outs, p, s.out, results)
	} else {
		s.outs = append(s.outs, move{host: s.out.Slice(0, results+n*each), last: n})
	}
	in, out := uint64(s.deviceIn), uint64(s.deviceOut)
	args := []uint64{in, in + uint64(lengthsAt(n)), out + uint64(results), out, uint64(n)}
	if id == codec.Page {
		args = append(args, uint64(s.engine.table))
	}
	if err := s.run(round{launches: []launch{{s.engine.kernels[kernel], args}}}); err != nil {
		return err
	}
	return s.scatter(p, id, s.out.Bytes()[:n*statusBytes], s.out.Bytes()[results:results+n*each])
}

// gather fills the buffer with the addresses of all objects, and the objects that are neither read
// in place nor copied in a span. The gaps are undefined.
func (s *slot) gather(p bulk.Piece, size int) {
	n, b, spans := len(s.items), s.in.Bytes()[:size], s.spans
	first := objectsAt(n)
	at := first
	for k, i := range s.items {
		if len(spans) > 0 && spans[0].last == k {
			spans = spans[1:]
		}
		known := s.regions[p.Region[i]]
		lies := known.at + int(p.Offset[i])
		address := s.deviceIn + driver.Pointer(at)
		switch {
		case len(spans) > 0 && spans[0].first <= k:
			address = s.deviceIn + driver.Pointer(spans[0].at+lies-spans[0].from)
		case s.inPlace(p, i):
			address = known.host.Device() + driver.Pointer(lies)
		default:
			at += int(p.Length[i])
		}
		binary.LittleEndian.PutUint64(b[k*addressBytes:], uint64(address))
		binary.LittleEndian.PutUint32(b[lengthsAt(n)+k*lengthBytes:], p.Length[i])
	}
	if at == first {
		return
	}
	p.Spread(n, func(from, to int) {
		for k := from; k < to; k++ {
			lies := binary.LittleEndian.Uint64(b[k*addressBytes:]) - uint64(s.deviceIn)
			if lies >= uint64(first) && lies < uint64(at) {
				object, _ := p.Object(int(s.items[k]))
				copy(b[lies:], object)
			}
		}
	})
}

// scatter delivers the pages or hashes of finished items. An item with another status stays
// Pending, and its page is undefined. All do where a sampled item has another page for the CPU.
func (s *slot) scatter(p bulk.Piece, id codec.ID, statuses, results []byte) error {
	var done atomic.Int64
	var wrong atomic.Bool
	for _, m := range s.outs {
		p.Spread(m.last-m.first, func(from, to int) {
			n := int64(0)
			for k := m.first + from; k < m.first+to; k++ {
				if binary.LittleEndian.Uint32(statuses[k*statusBytes:]) != kernels.StatusOK {
					continue
				}
				if k%sampled == 0 && !s.agrees(p, id, k, m.straight, results) {
					wrong.Store(true)
				}
				s.deliver(p, k, m.straight, results)
				n++
			}
			done.Add(n)
		})
	}
	if wrong.Load() {
		for _, i := range s.items {
			p.Verdict[i] = bulk.Pending
		}
		return fmt.Errorf("%w: an object gives another page", errComputes)
	}
	s.done += done.Load()
	return nil
}

// agrees reports whether the object of item number k of the round gives the CPU the page or hash
// that it has given the device. Nothing else tells that a device makes other pages than it made
// when the engine was opened.
func (s *slot) agrees(p bulk.Piece, id codec.ID, k int, there bool, results []byte) bool {
	proof := proofs.Get().(*[codec.PageSize]byte)
	defer proofs.Put(proof)
	i, decompress := int(s.items[k]), lz4.Decompress
	if id == codec.Page {
		decompress = page.Decompress
	}
	object, _ := p.Object(i)
	switch err := decompress(proof[:], object); {
	case err != nil:
		return false
	case p.Op == bulk.Verify:
		return bulk.Hash(proof[:]) == binary.LittleEndian.Uint64(results[k*hashBytes:])
	case there:
		return bytes.Equal(proof[:], p.Page(i))
	}
	return bytes.Equal(proof[:], results[k*codec.PageSize:][:codec.PageSize])
}

// deliver copies the page or hash of item number k of the round to its place, unless the page is
// there.
func (s *slot) deliver(p bulk.Piece, k int, there bool, results []byte) {
	i := s.items[k]
	if p.Op == bulk.Verify {
		if p.Hash != nil {
			p.Hash[i] = binary.LittleEndian.Uint64(results[k*hashBytes:])
		}
	} else {
		page := p.Page(int(i))
		if !there {
			copy(page, results[k*codec.PageSize:])
		}
		if p.Hash != nil {
			p.Hash[i] = bulk.Hash(page)
		}
	}
	p.Verdict[i] = bulk.Done
}
