// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"zramfs/codec"
	"zramfs/codec/bulk"
	"zramfs/codec/lz4"
	"zramfs/gpu/driver"
)

// What the paths are measured with: so many pages, as often, of which the best counts.
const (
	measuredPages  = 2048
	measuredRounds = 3
)

// measure decides between the paths: it has pages decompressed whose objects lie in memory that the device knows, by each.
func (e *Engine) measure() error {
	n := min(measuredPages, e.options.Batch)
	h, err := e.host.Get(n * codec.PageSize)
	if err != nil {
		return err
	}
	b, err := measuredBatch(h, n)
	if err == nil {
		e.mu.Lock()
		e.regions = []*region{{host: h}}
		e.mu.Unlock()
		err = e.compare(b)
		e.mu.Lock()
		e.regions, e.stats = nil, [3]Stats{}
		e.mu.Unlock()
	}
	if putErr := e.host.Put(h); err == nil {
		err = putErr
	}
	return err
}

// measuredBatch makes objects of pages that are half noise, as many pages in memory compress to about that.
func measuredBatch(h driver.Host, n int) (*bulk.Batch, error) {
	b := bulk.NewBatch(bulk.Decompress, n)
	b.Pages = make([]byte, n*codec.PageSize)
	b.Regions = [][]byte{h.Bytes()}
	encoder, page, at := new(lz4.Encoder), make([]byte, codec.PageSize), 0
	for i := range n {
		for k := 0; k < codec.PageSize; k += 16 {
			binary.LittleEndian.PutUint64(page[k:], uint64(i*codec.PageSize+k)*0x9e3779b97f4a7c15)
		}
		length, err := encoder.Compress(h.Bytes()[at:at+longestObject], page)
		if err != nil {
			return nil, fmt.Errorf("compress a page to measure with: %w", err)
		}
		b.Offset[i], b.Length[i], b.ID[i] = uint64(at), uint32(length), codec.LZ4
		at += length
	}
	return b, nil
}

// compare takes the fastest path of those on which all pages are done.
func (e *Engine) compare(b *bulk.Batch) error {
	items := make([]uint32, b.N)
	for i := range items {
		items[i] = uint32(i)
	}
	paths := []Path{Copied, Straight}
	if e.context.Properties().MapsHost {
		paths = append(paths, InPlace)
	}
	best, fastest := Measured, time.Duration(math.MaxInt64)
	for _, path := range paths {
		e.path.Store(uint32(path))
		for range measuredRounds {
			clear(b.Verdict)
			start := time.Now()
			if _, err := e.Do(context.Background(), 0, bulk.Piece{Batch: b, Items: items}); err != nil {
				return err
			}
			took := time.Since(start)
			if slices.ContainsFunc(b.Verdict, func(v bulk.Verdict) bool { return v != bulk.Done }) {
				break
			}
			if took < fastest {
				best, fastest = path, took
			}
		}
	}
	if best == Measured {
		return fmt.Errorf("%w: on no path does the device read all that the CPU made", errResult)
	}
	e.path.Store(uint32(best))
	return nil
}
