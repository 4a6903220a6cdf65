// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"errors"
	"fmt"
	"math"

	"github.com/zramfs/zramfs/codec"
)

// An Op is what is done with a batch.
type Op uint8

// The operations.
const (
	// Decompress makes pages of objects.
	Decompress Op = iota
	// Verify decompresses objects and keeps no page: the verdict is wanted, and the hash where there
	// is room for it.
	Verify
	// Compress makes objects of pages.
	Compress

	ops // how many there are
)

// String returns the operation's name for people.
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

// A Verdict is what became of one item.
type Verdict uint8

// The verdicts.
const (
	// Pending is an item that nobody has done.
	Pending Verdict = iota
	// Done is an item whose result is there.
	Done
	// Corrupt is an object that cannot be what its ID says.
	Corrupt
	// NoDictionary is an object that needs a dictionary, and there is none.
	NoDictionary
	// Skipped is an item that Batch.Before took out. No engine looks at it.
	Skipped

	verdicts // how many there are
)

// String returns the verdict for people.
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

// A Batch is items that the same is done with: objects, pages, or both. It is a structure of
// arrays, all of the caller's, item i being at index i of each; the ones longer than N are used as
// far as that. Two batches may share arrays: what one decompresses another may compress.
type Batch struct {
	Op Op
	N  int // items, at most [MaxItems]

	// Where objects lie: Regions[Region[i]][Offset[i]:][:Length[i]]. Read by Decompress and Verify.
	// Compress writes all of these: it makes Arena region 0 and Pages region 1, where a page that is
	// stored raw has its object, since that is not copied.
	Regions [][]byte
	Region  []uint16
	Offset  []uint64
	Length  []uint32
	ID      []codec.ID
	Index   []uint8 // which page of the object, for those of clusters; may be nil where there are none

	// Arena is what Compress writes objects to, N*PageSize bytes at least. It is filled in pieces,
	// with room between them.
	Arena []byte

	// Pages holds page i at Slot[i]*PageSize, or at i*PageSize where Slot is nil. Verify needs none.
	Pages []byte
	Slot  []uint32

	// Verdict says what became of each item. Run sets it to Pending first.
	Verdict []Verdict
	// Hash takes [Hash] of each page that is done, for whichever Op, where it is not nil.
	Hash []uint64

	// Before and After are called, where they are not nil, for the items of a piece before an engine
	// begins with it and after it has ended, by several goroutines at once for different items. Before
	// may prove checksums, and set the Verdict of what fails to Skipped; an item may come more than
	// once, and what was Skipped then may be made Pending again. After may compute them while an
	// object is in the cache; an item comes once that is Done, and those that are not are none of its
	// business.
	Before, After func(items []uint32)
}

// MaxItems is how many items a batch may have.
const MaxItems = math.MaxInt32

// ErrBatch reports a batch whose arrays are too short, or that points outside of its pages.
var ErrBatch = errors.New("unfit batch")

// NewBatch returns a batch of arrays for n items, and nothing that they point to: for Compress an
// Arena of its own, but neither Pages, Slot, Index nor Hash.
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

// Object returns the object of item i, of which ok is false if it points outside of its region.
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

// Page returns where the page of item i lies.
func (b *Batch) Page(i int) []byte {
	slot := i
	if b.Slot != nil {
		slot = int(b.Slot[i])
	}
	at := slot * codec.PageSize
	return b.Pages[at : at+codec.PageSize : at+codec.PageSize]
}

// prepare refuses a batch that cannot be worked on, and clears its verdicts.
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

// checkPages refuses pages outside of the buffer. That of objects is a matter of each, since they
// may come from outside.
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

// A Piece is the part of a batch that an engine gets to do at a time. No two have an item in common
// while they are worked on.
type Piece struct {
	*Batch
	// Items are those of the piece, in ascending order but for a step where the codec changes. Those
	// whose Verdict is not Pending are to be left alone.
	Items []uint32
	// At is where in the Batch's Arena the piece's own part begins, of len(Items)*PageSize bytes:
	// where Compress puts its objects, in any order.
	At int
}

// Own returns the piece's part of the arena.
func (p Piece) Own() []byte {
	end := p.At + len(p.Items)*codec.PageSize
	return p.Arena[p.At:end:end]
}

// Stored notes the object of item i, length bytes of the arena at offset at, and that the item is
// done.
func (p Piece) Stored(i uint32, id codec.ID, at, length int) {
	p.Region[i], p.Offset[i], p.Length[i], p.ID[i] = 0, uint64(at), uint32(length), id
	p.Verdict[i] = Done
}

// StoredRaw notes that the page of item i is its object, and that the item is done.
func (p Piece) StoredRaw(i uint32) {
	slot := uint64(i)
	if p.Slot != nil {
		slot = uint64(p.Slot[i])
	}
	p.Region[i], p.Offset[i], p.Length[i], p.ID[i] = 1, slot*codec.PageSize, codec.PageSize, codec.Raw
	p.Verdict[i] = Done
}
