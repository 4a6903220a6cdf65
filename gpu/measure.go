// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/gpu/driver"
)

// Each path is measured with measuredPages pages in each of up to measuredSlots slots at once,
// measuredRounds times; the best counts. It takes several slots to see what copies and kernels cost
// that run at the same time.
// trustedPages tell whether the device can be trusted.
const (
	measuredPages  = 2048
	measuredSlots  = 4
	measuredRounds = 3
	trustedPages   = 64
	// advantage is the part, 1/advantage, by which reading in place has to be faster than a copy:
	// with more pieces than are measured, copies run while kernels compute. On an H200 both took
	// the same time here, and then copies did a fifth more.
	advantage = 4
)

// errComputes: the device's result differs from the CPU's.
var errComputes = errors.New("the device does not compute what the CPU does")

// measure selects the path: it times the reading of objects in registered memory on each. They lie
// side by side, as those of an image do.
func (e *Engine) measure() error {
	n := min(measuredPages, e.options.Batch)
	h, err := e.host.Get(n * codec.PageSize)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.regions = []*region{{host: h}}
	e.mu.Unlock()
	err = e.measureIn(h, n)
	e.mu.Lock()
	e.regions, e.stats = nil, [3]Stats{}
	e.mu.Unlock()
	if putErr := e.host.Put(h); err == nil {
		err = putErr
	}
	return err
}

// measureIn does so after checking that the device computes correct pages.
func (e *Engine) measureIn(h driver.Host, n int) error {
	b, want, err := measuredBatch(h, min(n, trustedPages), codec.Page, new(page.Encoder))
	if err == nil {
		err = e.trust(b, want)
	}
	if err != nil {
		return err
	}
	if b, want, err = measuredBatch(h, n, codec.LZ4, new(lz4.Encoder)); err != nil {
		return err
	}
	b.N = min(n, trustedPages)
	if err := e.trust(b, want); err != nil {
		return err
	}
	b.Op, b.N = bulk.Verify, n // the pages take the same way back on each path
	return e.compare(b, want)
}

// measuredBatch makes objects of pages that are half noise, like many pages of memory compress, and
// the hashes of the pages.
func measuredBatch(h driver.Host, n int, id codec.ID, encoder interface {
	Compress(dst, page []byte) (int, error)
}) (*bulk.Batch, []uint64, error) {
	b, want := bulk.NewBatch(bulk.Decompress, n), make([]uint64, n)
	b.Pages = make([]byte, n*codec.PageSize)
	b.Regions = [][]byte{h.Bytes()}
	original, at := make([]byte, codec.PageSize), 0
	for i := range n {
		for k := 0; k < codec.PageSize; k += 16 {
			binary.LittleEndian.PutUint64(original[k:], uint64(i*codec.PageSize+k)*0x9e3779b97f4a7c15)
		}
		length, err := encoder.Compress(h.Bytes()[at:at+longestObject], original)
		if err != nil {
			return nil, nil, fmt.Errorf("compress a page to measure with: %w", err)
		}
		b.Offset[i], b.Length[i], b.ID[i], want[i] = uint64(at), uint32(length), id, bulk.Hash(original)
		at += length
	}
	return b, want, nil
}

// trust checks pages and hashes that the device makes of objects. A wrong page would go unnoticed
// later.
func (e *Engine) trust(b *bulk.Batch, want []uint64) error {
	e.path.Store(uint32(Copied))
	for _, b.Op = range []bulk.Op{bulk.Decompress, bulk.Verify} {
		all, err := e.right(b, want)
		if err == nil && !all {
			err = fmt.Errorf("%w: it takes objects for damaged that are not", errComputes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// right reports whether all items of a batch are done. It fails if a result has another hash than
// wanted.
func (e *Engine) right(b *bulk.Batch, want []uint64) (all bool, err error) {
	b.Hash = make([]uint64, b.N)
	defer func() { b.Hash = nil }()
	clear(b.Pages)
	if err := e.doAll(b); err != nil {
		return false, err
	}
	for i, v := range b.Verdict[:b.N] {
		if v != bulk.Done {
			return false, nil
		}
		if b.Hash[i] != want[i] {
			return false, fmt.Errorf("%w: %s of page %d gives another page", errComputes, b.Op, i)
		}
	}
	return true, nil
}

// doAll does a batch in one piece.
func (e *Engine) doAll(b *bulk.Batch) error {
	clear(b.Verdict)
	_, err := e.Do(context.Background(), 0, bulk.Piece{Batch: b, Items: allItems(b)})
	return err
}

func allItems(b *bulk.Batch) []uint32 {
	items := make([]uint32, b.N)
	for i := range items {
		items[i] = uint32(i)
	}
	return items
}

// timeAll verifies a batch in several slots at once, and returns how long that takes.
func (e *Engine) timeAll(b *bulk.Batch) (time.Duration, error) {
	slots := min(measuredSlots, len(e.slots))
	errs := make([]error, slots)
	var running sync.WaitGroup
	start := time.Now()
	for lane := range slots {
		own := *b
		own.Verdict = make([]bulk.Verdict, b.N)
		running.Go(func() {
			_, errs[lane] = e.Do(context.Background(), lane, bulk.Piece{Batch: &own, Items: allItems(b)})
		})
	}
	running.Wait()
	return time.Since(start), errors.Join(errs...)
}

// compare selects the fastest path of those on which all pages are done.
func (e *Engine) compare(b *bulk.Batch, want []uint64) error {
	paths := []Path{Copied, Straight}
	if e.context.Properties().MapsHost {
		paths = append(paths, InPlace)
	}
	best, fastest := Measured, time.Duration(math.MaxInt64)
	for _, path := range paths {
		e.path.Store(uint32(path))
		all, err := e.right(b, want)
		if err != nil {
			return err
		}
		for range measuredRounds {
			if !all {
				break
			}
			took, err := e.timeAll(b)
			if err != nil {
				return err
			}
			if path == InPlace {
				took += took / advantage
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
