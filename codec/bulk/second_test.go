// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// errInjected is what a second engine fails with.
var errInjected = errors.New("injected error")

// A second is another engine for tests: the CPU's codecs with workers of their own, behind limits,
// ignorance, errors and delays. It imitates no device: what it proves is that of the planner.
type second struct {
	*CPU
	name   string
	limits Limits
	ids    []codec.ID    // that it reads
	writes bool          // it compresses
	delay  time.Duration // of each piece
	each   time.Duration // of each item
	fail   func(piece int) error
	chore  func(Piece)         // which it spreads
	leave  func(i uint32) bool // items that it will not do
	spoil  bool                // writes rubbish before it fails
	pieces atomic.Int64        // given so far
	sizes  chan int            // of the pieces, where it is not nil
	closed atomic.Int64
}

func newSecond(t testing.TB, algorithm string, ids ...codec.ID) *second {
	t.Helper()
	const lanes = 3
	return &second{
		CPU: newCPU(t, algorithm, lanes), name: "second", ids: ids, writes: true,
		limits: Limits{Lanes: lanes, Least: 1000, Min: 128, Max: 4096},
	}
}

func (e *second) Name() string   { return e.name }
func (e *second) Limits() Limits { return e.limits }

func (e *second) Can(op Op, id codec.ID) bool {
	if op == Compress {
		return e.writes
	}
	return slices.Contains(e.ids, id)
}

func (e *second) Close() error {
	e.closed.Add(1)
	return nil
}

func (e *second) Do(ctx context.Context, lane int, p Piece) (Times, error) {
	number := int(e.pieces.Add(1))
	if e.sizes != nil {
		e.sizes <- len(p.Items)
	}
	if wait := e.delay + time.Duration(len(p.Items))*e.each; wait > 0 {
		select {
		case <-ctx.Done():
			return Times{}, ctx.Err()
		case <-time.After(wait):
		}
	}
	if e.fail != nil {
		if err := e.fail(number); err != nil {
			if e.spoil {
				e.rubbish(p)
			}
			return Times{}, err
		}
	}
	if e.chore != nil {
		e.chore(p)
	}
	for _, i := range p.Items {
		if p.Verdict[i] == Pending && e.leave != nil && e.leave(i) {
			p.Verdict[i] = Corrupt // which no engine but the CPU may say
		}
	}
	_, err := e.CPU.Do(ctx, lane, p)
	return Times{Kernel: time.Microsecond}, err
}

// rubbish fills all that the piece may write, and says that half of it was done.
func (e *second) rubbish(p Piece) {
	for k, i := range p.Items {
		if p.Op == Decompress {
			for at := range p.Page(int(i)) {
				p.Page(int(i))[at] = 0xcc
			}
		}
		if p.Op == Compress {
			p.Stored(i, codec.LZ4, p.At, 7)
		}
		if p.Verdict[i] != Skipped {
			p.Verdict[i] = Verdict(k % 3)
		}
	}
}
