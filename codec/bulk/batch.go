// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"fmt"
	"math"

	"github.com/zramfs/zramfs/codec"
)

// An Op is the operation of a batch.
type Op uint8

// The operations.
const (
	// Decompress makes pages of objects.
	Decompress Op = iota
	// Verify decompresses objects for the verdict, and for the hash where Hash is not nil. It keeps
	// no page.
	Verify
	// Compress makes objects of pages.
	Compress

	ops // number of operations
)

// String returns the operation's name.
func (o Op) String() string {
	switch o {
	case Decompress:
		return "decompress"
	case Verify:
		return "verify"
	case Compress:
		return "compress"
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// A Verdict is the result of one item.
type Verdict uint8

// The verdicts.
const (
	// Pending is an item that is not done yet.
	Pending Verdict = iota
	// Done is an item whose result is there.
	Done
	// Corrupt is an object that cannot be what its ID says.
	Corrupt
	// NoDictionary is an object that needs a dictionary which the engine does not have.
	NoDictionary
	// Skipped is an item that Batch.Before excluded. No engine touches it.
	Skipped

	verdicts // number of verdicts
)

// String returns the verdict's name.
func (v Verdict) String() string {
	switch v {
	case Pending:
		return "pending"
	case Done:
		return "done"
	case Corrupt:
		return "corrupt"
	case NoDictionary:
		return "no dictionary"
	case Skipped:
		return "skipped"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}

// A Batch is a set of items with one operation: objects, pages, or both. It is a structure of
// arrays, all of the caller's, with item i at index i of each; arrays may be longer than N. Two
// batches may share arrays: one may compress the pages that another decompresses.
type Batch struct {
	Op Op
	N  int // items, at most [MaxItems]

	// The objects: Regions[Region[i]][Offset[i]:][:Length[i]]. Decompress and Verify read these
	// arrays. Compress writes all of them: it makes Arena region 0 and Pages region 1, where a page
	// that is stored raw has its object, since that is not copied.
	Regions [][]byte
	Region  []uint16
	Offset  []uint64
	Length  []uint32
	ID      []codec.ID
	Index   []uint8 // page within a cluster's object; may be nil without clusters

	// Arena takes Compress's objects, N*PageSize bytes at least. It is filled in pieces, with gaps
	// between them.
	Arena []byte

	// Pages holds page i at Slot[i]*PageSize, or at i*PageSize where Slot is nil. Verify needs
	// none.
	Pages []byte
	Slot  []uint32

	// Verdict takes the result of each item. Run sets it to Pending first.
	Verdict []Verdict
	// Hash takes [Hash] of each page that is done, for any Op, if it is not nil.
	Hash []uint64

	// Before and After, if not nil, are called for the items of a piece before an engine begins
	// with it and after it has ended, by several goroutines at once for different items. Before may
	// verify checksums, and set the Verdict of a failed item to Skipped; it may get an item more
	// than once, and may make a Skipped one Pending again. After may compute checksums while an
	// object is in the cache; it gets a Done item once, and must ignore others.
	Before, After func(items []uint32)
}

// MaxItems is the largest number of items in a batch.
const MaxItems = math.MaxInt32

// ErrBatch reports a batch whose arrays are too short, or whose slots lie outside its pages.
var ErrBatch = errors.New("unfit batch")

// NewBatch returns a batch with arrays for n items, and for Compress an Arena. The caller sets
// Pages, Regions and, if needed, Slot, Index and Hash.
func NewBatch(op Op, n int) *Batch {
	b := &Batch{
		Op: op, N: n,
		Region: make([]uint16, n), Offset: make([]uint64, n), Length: make([]uint32, n), ID: make([]codec.ID, n),
		Verdict: make([]Verdict, n),
	}
	if op == Compress {
		b.Arena = make([]byte, n*codec.PageSize)
	}
	return b
}

// Object returns the object of item i; ok is false if it lies outside its region.
func (b *Batch) Object(i int) (object []byte, ok bool) {
	if int(b.Region[i]) >= len(b.Regions) {
		return nil, false
	}
	region, offset, length := b.Regions[b.Region[i]], b.Offset[i], uint64(b.Length[i])
	if offset > uint64(len(region)) || length > uint64(len(region))-offset {
		return nil, false
	}
	end := offset + length
	return region[offset:end:end], true
}

// Page returns the memory of item i's page.
func (b *Batch) Page(i int) []byte {
	slot := i
	if b.Slot != nil {
		slot = int(b.Slot[i])
	}
	at := slot * codec.PageSize
	return b.Pages[at : at+codec.PageSize : at+codec.PageSize]
}

// prepare checks a batch and clears its verdicts.
func (b *Batch) prepare() error {
	if b.Op >= ops || b.N < 0 || b.N > MaxItems {
		return fmt.Errorf("%w: %s of %d items", ErrBatch, b.Op, b.N)
	}
	shortest := min(len(b.Region), len(b.Offset), len(b.Length), len(b.ID), len(b.Verdict))
	if b.Slot != nil {
		shortest = min(shortest, len(b.Slot))
	}
	if b.Hash != nil {
		shortest = min(shortest, len(b.Hash))
	}
	if b.Index != nil {
		shortest = min(shortest, len(b.Index))
	}
	if shortest < b.N {
		return fmt.Errorf("%w: an array of %d for %d items", ErrBatch, shortest, b.N)
	}
	if b.Op != Verify {
		if err := b.checkPages(); err != nil {
			return err
		}
	}
	if b.Op == Compress {
		if len(b.Arena)/codec.PageSize < b.N {
			return fmt.Errorf("%w: an arena of %d bytes for %d items", ErrBatch, len(b.Arena), b.N)
		}
		b.Regions = append(b.Regions[:0], b.Arena, b.Pages)
	}
	clear(b.Verdict[:b.N])
	return nil
}

// checkPages refuses slots outside the buffer. Objects are checked one by one when they are read,
// since they may come from outside.
func (b *Batch) checkPages() error {
	there := len(b.Pages) / codec.PageSize
	if b.Slot == nil {
		if there < b.N {
			return fmt.Errorf("%w: %d bytes of pages for %d items", ErrBatch, len(b.Pages), b.N)
		}
		return nil
	}
	for i, slot := range b.Slot[:b.N] {
		if uint64(slot) >= uint64(there) {
			return fmt.Errorf("%w: item %d is page %d of %d", ErrBatch, i, slot, there)
		}
	}
	return nil
}

// A Piece is the part of a batch that an engine gets at a time. Pieces under way have no item in
// common.
type Piece struct {
	*Batch
	// Items are the piece's items, ascending except for a step where the codec changes. The engine
	// ignores those whose Verdict is not Pending.
	Items []uint32
	// At is the offset in the batch's Arena of the piece's own part, of len(Items)*PageSize bytes,
	// where Compress puts its objects in any order.
	At int

	queue *queue // of the planner that made it, or nil
}

// Own returns the piece's part of the arena.
func (p Piece) Own() []byte {
	end := p.At + len(p.Items)*codec.PageSize
	return p.Arena[p.At:end:end]
}

// Stored records the object of item i, length bytes of the arena at offset at, and sets the item
// Done.
func (p Piece) Stored(i uint32, id codec.ID, at, length int) {
	p.Region[i], p.Offset[i], p.Length[i], p.ID[i] = 0, uint64(at), uint32(length), id
	p.Verdict[i] = Done
}

// StoredRaw records that the page of item i is its object, and sets the item Done.
func (p Piece) StoredRaw(i uint32) {
	slot := uint64(i)
	if p.Slot != nil {
		slot = uint64(p.Slot[i])
	}
	p.Region[i], p.Offset[i], p.Length[i], p.ID[i] = 1, slot*codec.PageSize, codec.PageSize, codec.Raw
	p.Verdict[i] = Done
}
