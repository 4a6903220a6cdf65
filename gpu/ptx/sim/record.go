// SPDX-License-Identifier: Apache-2.0

package sim

// A record is the last access to a byte of one kind:
//
//	clock << 12 | warp << 6 | lane
//
// 0 is none. The clock is the block's and advances with every barrier of the block or of one of its
// warps, so one number tells whether a barrier has ordered the access before another one.
type record = uint64

const (
	laneBits  = 6
	whoBits   = 2 * laneBits
	laneMask  = 1<<laneBits - 1
	whoMask   = 1<<whoBits - 1
	many      = laneMask // in place of a lane or a warp: several
	firstTick = 1        // clocks begin here, so that no record is 0
)

// party is a lane as the trackers see it.
type party struct {
	record      record // of an access now
	warpSynced  record // lower records are ordered, within the warp
	blockSynced record // and within the block
}

// conflicts reports whether the access that r records, by another lane, is not ordered before p's.
func (p *party) conflicts(r record) bool {
	switch {
	case r < p.blockSynced: // also none
		return false
	case (r^p.record)&(whoMask&^laneMask) != 0:
		return true
	default:
		return (r^p.record)&laneMask != 0 && r >= p.warpSynced
	}
}

// join returns the record of accesses that do not exclude each other: r's and p's.
func (p *party) join(r record) record {
	switch {
	case r == p.record || !p.conflicts(r):
		return p.record
	case (r^p.record)&(whoMask&^laneMask) != 0:
		return p.record | whoMask
	default:
		return p.record | laneMask
	}
}
