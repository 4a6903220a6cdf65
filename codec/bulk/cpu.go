// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/zramfs/zramfs/codec"
)

// The bounds of a CPU worker's piece, in items. 64 pages take at least 30 microseconds, much longer
// than taking them from the queue; towards the end of a batch pieces get smaller, so that all
// workers end together.
const (
	cpuMin = 16
	cpuMax = 64
)

// A CPU is the engine of the machine's cores. It reads the objects of every algorithm, including
// clusters, and compresses with one.
type CPU struct {
	lanes []cpuLane // one for each worker, which owns it
}

// A cpuLane is the state of one worker.
type cpuLane struct {
	compressor   codec.Compressor
	decompressor *codec.Decompressor
	clusters     *codec.ClusterDecompressor
	page         [codec.PageSize]byte // being verified; also keeps the lanes apart in memory
}

// NewCPU makes an engine with a number of workers; 0 means GOMAXPROCS. They compress with a, read
// objects of its dictionary, and use no more than the instruction set that it names. Package codec
// says how much memory each takes.
func NewCPU(a codec.Algorithm, workers int) (*CPU, error) {
	if workers < 0 {
		return nil, fmt.Errorf("make CPU engine of %d workers: a number from 0 up is needed", workers)
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	c := &CPU{lanes: make([]cpuLane, workers)}
	for i := range c.lanes {
		lane := &c.lanes[i]
		var err error
		if lane.compressor, err = a.NewCompressor(); err != nil {
			return nil, fmt.Errorf("make CPU engine: %w", err)
		}
		if lane.decompressor, err = a.NewDecompressor(); err != nil {
			return nil, fmt.Errorf("make CPU engine: %w", err)
		}
		if lane.clusters, err = a.NewClusterDecompressor(); err != nil {
			return nil, fmt.Errorf("make CPU engine: %w", err)
		}
	}
	return c, nil
}

// Name implements [Engine].
func (c *CPU) Name() string { return "cpu" }

// Limits implements [Engine].
func (c *CPU) Limits() Limits { return Limits{Lanes: len(c.lanes), Least: 1, Min: 1, Max: cpuMax} }

// Can implements [Engine]: for an unknown codec the CPU finds Corrupt.
func (c *CPU) Can(Op, codec.ID) bool { return true }

// Close implements [Engine]. It does nothing.
func (c *CPU) Close() error { return nil }

// Do implements [Engine]. It leaves no item Pending, and checks the context only at the beginning.
func (c *CPU) Do(ctx context.Context, lane int, p Piece) (Times, error) {
	if err := ctx.Err(); err != nil {
		return Times{}, err
	}
	l := &c.lanes[lane]
	switch p.Op {
	case Decompress:
		l.decompress(p)
	case Verify:
		l.verify(p)
	case Compress:
		return Times{}, l.compress(p)
	}
	return Times{}, nil
}

func (l *cpuLane) decompress(p Piece) {
	for _, i := range p.Items {
		if p.Verdict[i] != Pending {
			continue
		}
		page := p.Page(int(i))
		p.Verdict[i] = l.read(p.Batch, int(i), page)
		if p.Hash != nil && p.Verdict[i] == Done {
			p.Hash[i] = Hash(page)
		}
	}
}

// verify decompresses all pages to the same place, which stays in the nearest cache.
func (l *cpuLane) verify(p Piece) {
	for _, i := range p.Items {
		if p.Verdict[i] != Pending {
			continue
		}
		p.Verdict[i] = l.read(p.Batch, int(i), l.page[:])
		if p.Hash != nil && p.Verdict[i] == Done {
			p.Hash[i] = Hash(l.page[:])
		}
	}
}

// read decompresses item i to page.
func (l *cpuLane) read(b *Batch, i int, page []byte) Verdict {
	object, ok := b.Object(i)
	if !ok {
		return Corrupt
	}
	var err error
	switch id := b.ID[i]; id {
	case codec.PageDenseCluster:
		index := 0
		if b.Index != nil {
			index = int(b.Index[i])
		}
		err = l.clusters.DecompressCluster(page, id, index, object)
	default:
		err = l.decompressor.Decompress(page, id, object)
	}
	switch {
	case err == nil:
		return Done
	case errors.Is(err, codec.ErrDictionary):
		return NoDictionary
	}
	return Corrupt
}

// compress packs the objects one after the other. A kept object is so much shorter than a page that
// there is always room for a whole page behind it.
func (l *cpuLane) compress(p Piece) error {
	own, at := p.Own(), 0
	for _, i := range p.Items {
		if p.Verdict[i] != Pending {
			continue
		}
		page := p.Page(int(i))
		if p.Hash != nil {
			p.Hash[i] = Hash(page)
		}
		id, n, err := l.compressor.Compress(own[at:], page)
		switch {
		case err != nil:
			return fmt.Errorf("compress item %d: %w", i, err)
		case id == codec.Raw:
			p.StoredRaw(i)
		default:
			p.Stored(i, id, p.At+at, n)
			at += n
		}
	}
	return nil
}
