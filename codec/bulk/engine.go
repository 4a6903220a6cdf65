// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"errors"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// ErrDead reports an engine that will not work again, such as a GPU that has fallen off. An error
// of Engine.Do that wraps it ends the engine at once.
var ErrDead = errors.New("engine is gone")

// ErrTorn reports an engine that fell silent while it wrote straight to the pages of a piece, and
// may write there still. An error of Engine.Do that wraps it ends the batch with that error, and
// the engine: to do the piece again would prove nothing. It is only possible for a batch whose
// Pages were registered for writing.
var ErrTorn = errors.New("pages may still be written to by a device that does not answer")

// An Engine does pieces of batches. It is made for one algorithm, or for none where it only
// decompresses.
type Engine interface {
	// Name is what a report calls the engine, such as "cpu" or "gpu0". No two in a planner have the
	// same.
	Name() string
	// Limits says how it wants its work. The answer never changes.
	Limits() Limits
	// Can reports whether the engine does op with objects of codec id, or, for Compress, whatever the
	// id, whether it makes objects. The answer never changes.
	Can(op Op, id codec.ID) bool
	// Do does the items of a piece that are Pending. It is called by up to Limits().Lanes goroutines
	// at once, each with its own lane from 0 on, and returns when all is done and it will not touch
	// the batch any more. For each item it either leaves the result, and sets the Verdict to Done, or
	// leaves it Pending, which it does with all that it cannot do and with what it takes for damaged:
	// no engine but the CPU says Corrupt.
	//
	// After an error nothing of what it did counts, and the CPU does the piece. A context that is
	// cancelled is a reason to end early, with its error. The times are for the report, as far as the
	// engine knows them, also with an error.
	Do(ctx context.Context, lane int, p Piece) (Times, error)
	// Close ends the engine. Nothing is called after it.
	Close() error
}

// A Registrar is an [Engine] that works faster on memory that it was told of. Both methods may be
// called at any time before Close, by several goroutines at once.
type Registrar interface {
	// Register tells of a region, a mapping that begins at a multiple of a page and stays where it is
	// until Unregister. What batches have of it may be any part. With write pages are brought there,
	// otherwise it is only read. After an error the region is as unknown as before.
	Register(region []byte, write bool) error
	// Unregister undoes Register, of the very same region. It is an error if a piece that has to do
	// with it is under way.
	Unregister(region []byte) error
}

// Limits says how an engine wants its work.
type Limits struct {
	// Lanes is how many pieces it wants at once, to have one when another ends: 1 at least.
	Lanes int
	// Least is the smallest batch, in items, that it is worth waking for.
	Least int
	// Min and Max bound the items of one piece, 1 at least. What is left of a batch may be less than
	// Min, and is left to the CPU then.
	Min, Max int
}

// clean makes limits ones that can be worked with.
func (l Limits) clean() Limits {
	l.Lanes, l.Min = max(l.Lanes, 1), max(l.Min, 1)
	l.Max = max(l.Max, l.Min)
	return l
}

// Times says how long the stages of an engine took, for one that has stages: to the device,
// computing, and back. They may overlap with those of other pieces.
type Times struct {
	H2D, Kernel, D2H time.Duration
}

// worth is by how much computing must outweigh the transfers for a device behind a slow bus to pay,
// by a rule of thumb of the original specification.
const worth = 5

// Outweighs reports whether computing took five times as long as the transfers, or longer. It is
// false where an engine has no such stages.
func (t Times) Outweighs() bool { return t.Kernel > 0 && t.Kernel >= worth*(t.H2D+t.D2H) }

// add adds those of another piece.
func (t *Times) add(u Times) {
	t.H2D += u.H2D
	t.Kernel += u.Kernel
	t.D2H += u.D2H
}
