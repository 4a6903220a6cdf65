// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"errors"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// ErrDead reports an engine that will not work again, such as a GPU that has fallen off the bus. An
// error of Engine.Do that wraps it ends the engine at once.
var ErrDead = errors.New("engine is gone")

// ErrTorn reports an engine that fell silent while it wrote straight to the pages of a piece, and
// may still write there. An error of Engine.Do that wraps it ends the batch with that error, and
// the engine: doing the piece again would be useless. It can only happen to a batch whose Pages
// were registered for writing.
var ErrTorn = errors.New("pages may still be written to by a device that does not answer")

// An Engine does pieces of batches. It is made for one algorithm, or for none if it only
// decompresses.
type Engine interface {
	// Name is the engine's name in reports, such as "cpu" or "gpu0". Names in a planner differ.
	Name() string
	// Limits returns the sizes of pieces that it wants. The answer never changes.
	Limits() Limits
	// Can reports whether the engine does op with objects of codec id; for Compress, with any id,
	// whether it makes objects. The answer never changes.
	Can(op Op, id codec.ID) bool
	// Do does the Pending items of a piece. Up to Limits().Lanes goroutines call it at once, each
	// with its own lane from 0 on. When it returns it is done with the batch. For each item it
	// either leaves the result and sets the Verdict to Done, or leaves the item Pending: all that
	// it cannot do, and all that it takes for damaged, since only the CPU says Corrupt.
	//
	// After an error the CPU does the whole piece again. A cancelled context is a reason to end
	// early, with the context's error. The times are for the report, as far as the engine knows
	// them, also with an error.
	Do(ctx context.Context, lane int, p Piece) (Times, error)
	// Close ends the engine. It is the last call.
	Close() error
}

// A Registrar is an [Engine] that works faster on registered memory. Both methods may be called at
// any time before Close, by several goroutines at once.
type Registrar interface {
	// Register registers a region: a mapping that begins at a multiple of a page and stays where it
	// is until Unregister. Batches may use any part of it. With write the engine may write pages
	// there; otherwise it only reads. After an error the region is not registered.
	Register(region []byte, write bool) error
	// Unregister undoes Register, of exactly the same region. It is an error if a piece under way
	// uses the region.
	Unregister(region []byte) error
}

// Limits are the sizes of pieces and batches that an engine wants.
type Limits struct {
	// Lanes is how many pieces it wants at once, so that one is ready when another ends: at least
	// 1.
	Lanes int
	// Least is the smallest batch worth waking the engine for, in items.
	Least int
	// Min and Max bound the items of one piece, at least 1. The CPU does a rest smaller than Min.
	Min, Max int
}

// clean makes limits valid.
func (l Limits) clean() Limits {
	l.Lanes, l.Min = max(l.Lanes, 1), max(l.Min, 1)
	l.Max = max(l.Max, l.Min)
	return l
}

// Times are the times of an engine's stages, if it has any: copying to the device, computing, and
// copying back. They may overlap with those of other pieces.
type Times struct {
	H2D, Kernel, D2H time.Duration
}

// worth is the ratio of computing to transfers from which a device behind a slow bus pays, by a
// rule of thumb.
const worth = 5

// Outweighs reports whether computing took at least five times as long as the transfers. It is
// false for an engine without stages.
func (t Times) Outweighs() bool { return t.Kernel > 0 && t.Kernel >= worth*(t.H2D+t.D2H) }

// add adds the times of another piece.
func (t *Times) add(u Times) {
	t.H2D += u.H2D
	t.Kernel += u.Kernel
	t.D2H += u.D2H
}
