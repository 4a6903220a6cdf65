// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// Config says what to create.
type Config struct {
	// Disksize is the device's size in bytes, a multiple of PageSize, up to
	// MaxDisksize.
	Disksize uint64
	// Algorithm chooses the codec of each page written, until SetAlgorithm changes it.
	Algorithm codec.Algorithm
	// MemLimit bounds Stats.MemUsedTotal, in bytes, until SetMemLimit changes it; 0 is no limit.
	MemLimit uint64
	// MaxMemory is how much memory the machine could ever give, in bytes. It
	// bounds the table of segments. 0 stands for the most that Disksize can need.
	MaxMemory uint64
	// Workers is how many requests are worked on at a time, from 4 to 64. 0 stands
	// for twice as many as there are processors.
	Workers int
	// MaxWaiting is how many requests may wait for the memory of a full store at a
	// time; those beyond it fail at once. 0 stands for the largest possible number, two fewer than
	// the store has workers. A server with fewer threads than that sets less, so that reads
	// find a thread.
	MaxWaiting int
	// Firmly, if set, calls take, and makes the kernel give it memory where the kernel
	// would let other processes wait. The maintainer calls it, off the page path and one
	// call at a time, with less than a millisecond of work. Nil is a plain call.
	AllocHook func(take func() error) error
	// OnFill, if set, is told when 80, 90 or 100 per cent of MemLimit come into use, with risen: of
	// the last, when no more memory can be had below the limit for what is written. Once the use is
	// 5 per cent lower than a step it is told the next lower one, or 0, without risen. It is told a
	// step again after that, or once SetMemLimit was called. The maintainer calls it, off the page
	// path; it must neither block nor allocate, since writes may be waiting.
	OnFill func(percent int, risen bool)
	// OnFull says what a write does that finds no memory below the limit; empty is FullSpill.
	OnFull OnFull
	// Relief, if set, is asked while no more memory can be had for what is written, unless OnFull
	// is FullError, and reports whether the caller makes room, by WriteBack for example: writes
	// then wait for that instead of failing. The maintainer calls it, off the page path; it must
	// not block.
	MakeRoom func() bool
	// Present, if set, makes the memory present that v leads to, which requests would touch first.
	// It is called before the store is in use, and by SetAlgorithm.
	Prefault func(v any)
	// OnCorrupt, if set, is told the number of each page whose read failed its checksum, and by
	// Open that of each whose entry is impossible. It is called on the page path: it must neither
	// block nor allocate.
	OnCorrupt func(page uint64)
	// OnOverwritten, if set, is told in place of OnCorrupt the number of each page whose block on
	// the backing device is not what the store wrote there.
	OnOverwritten func(page uint64)
	// Totals, if set, is memory for the counts that only grow (reads, writes, discards,
	// HugePagesSince, RecompressedSince, PagesCompacted, RecountedSegments, Refaults, MemUsedMax):
	// TotalsRows rows of TotalsRow words. A store that is opened with the memory of the one before
	// counts on; Create begins anew, unless it fails. A second store must not use it at the
	// same time.
	Totals []atomic.Uint64
	// Backing, if set, is where WriteBack writes pages. An image that was made with one is opened
	// with the same file and key. The caller closes it, after the store.
	Backing *Backing
}

// OnFull is what a write does that finds no memory below the limit.
type OnFull string

const (
	// FullSpill has it wait while Config.Relief makes room, and else as FullError.
	FullSpill OnFull = "spill"
	// FullStall has it wait for pages that are freed, too, for up to 30 seconds, while Store.Stall
	// lets it. Of the writes that no relief makes room for, those beyond Config.MaxWaiting fail at
	// once, so that reads go on.
	FullStall OnFull = "stall"
	// FullError has it fail once the maintainer has tried twice in vain.
	FullError OnFull = "error"
)

// ParseOnFull reads an OnFull.
func ParseOnFull(text string) (OnFull, error) {
	f := OnFull(text)
	if !slices.Contains([]OnFull{FullSpill, FullStall, FullError}, f) {
		return "", fmt.Errorf("%q is not %s, %s or %s", text, FullSpill, FullStall, FullError)
	}
	return f, nil
}

// minSegments is the least that can be worked with: one that a worker fills, one
// that the compactor fills, and one in its reserve.
const minSegments = 3

// LeastLimit returns the smallest memory limit that Create takes for a device of cfg's size.
func LeastLimit(cfg Config) uint64 {
	n := uint64(minSegments)
	if cfg.Backing != nil {
		n++ // of stubs
	}
	return uint64(fixedBytes(image.NewGeometry(cfg.Disksize, segmentsFor(cfg)))) + n*image.SegmentSize
}

// segmentsFor is how many segments the worst case takes: each page raw, an
// eighth more for what waits for compaction, and what workers and reserve hold.
func segmentsFor(cfg Config) uint64 {
	cfg.MemLimit = 0 // it may be lifted later
	worst := cfg.Disksize/PageSize/image.RawPerSegment + 1
	n := worst + worst/8 + uint64(reserveMost(cfg)) + maxWorkers + 2
	if cfg.MaxMemory != 0 {
		n = min(n, cfg.MaxMemory/image.SegmentSize+1)
	}
	return min(n, image.MaxSegments)
}

// reserveMost is how many segments wait ready at the most: enough for the maintainer to
// keep up with a burst (16 MiB for 4 GiB), little enough not to be felt.
func reserveMost(cfg Config) int {
	n := min(max(cfg.Disksize/256, 2<<20), 64<<20)
	if cfg.MemLimit != 0 {
		n = min(n, cfg.MemLimit/16)
	}
	return int(max(n/image.SegmentSize, 2))
}
