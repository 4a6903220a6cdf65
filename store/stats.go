// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// Stats is a snapshot of a Store's counters, in bytes or counts of pages. The
// first nine are zram's mm_stat and mean what they mean there
// (Documentation/admin-guide/blockdev/zram.rst).
type Stats struct {
	OrigDataSize   uint64 // what is stored, uncompressed, same-filled and written-back pages included
	ComprDataSize  uint64 // what it takes compressed; a huge page takes PageSize, a same-filled or written-back one nothing
	MemUsedTotal   uint64 // memory taken from the machine: index, segments, reserve
	MemLimit       uint64 // bound of MemUsedTotal, 0 for none
	MemUsedMax     uint64 // the most that MemUsedTotal was
	SamePages      uint64 // same-filled pages stored
	PagesCompacted uint64 // pages of memory given back by compaction
	HugePages      uint64 // incompressible pages stored
	HugePagesSince uint64 // incompressible pages written, ever

	FailedReads    ErrorCount // pages
	FailedWrites   ErrorCount // pages
	ChecksumErrors ErrorCount // times that a page was found corrupt
	NotifyFree     uint64     // pages freed by discard
	Reads          uint64     // pages, or parts of one
	Writes         uint64     // pages, or parts of one

	IndexBytes   uint64 // of MemUsedTotal: index, ages and what surrounds them
	ReserveBytes uint64 // of MemUsedTotal: segments that wait to be filled

	RecountedSegments uint64 // segments that damage made the store lose track of, and that it took back

	RecompressedSince uint64 // pages whose object Recompress made smaller, ever

	WrittenBack   uint64     // pages that lie on the backing device
	BackingReads  uint64     // pages read from there
	BackingWrites uint64     // pages written there, changed ones included
	BackingErrors ErrorCount // writes to it that failed, of up to 32 pages each
	BackingPages  uint64     // pages that it has room for

	Ages AgeStats

	Codecs [codecs]CodecStats // by codec.ID, of pages in memory
}

// CodecStats is what is stored with one codec.
type CodecStats struct {
	Pages uint64 // pages
	Bytes uint64 // compressed, without headers
}

const codecs = image.Codecs

// counters are one worker's share of the statistics: what it added, less what
// it took away. Sums over workers mean something, one worker's need not.
type counters struct {
	reads, writes, discards total                // see Config.Totals
	hugeSince, bdReads      total                // as these
	footprint               atomic.Int64         // bytes of segments that objects take
	pages                   [codecs]atomic.Int64 // by codec
	bytes                   [codecs]atomic.Int64
	refaults                []atomic.Uint64 // pages read, by class of age; as reads
}

// add counts an entry published (+1) or replaced (-1), and its object unless pages share that; see
// addCluster.
func (c *counters) add(e image.Entry, sign int64) {
	if e == 0 {
		return
	}
	id := e.Codec()
	c.pages[id].Add(sign)
	if e.Same() || e.Clustered() {
		return
	}
	c.addObject(e, sign)
	if id == codec.Raw && sign > 0 {
		c.hugeSince.Add(1)
	}
}

// addObject counts an object that was made (+1), or retired (-1).
func (c *counters) addObject(e image.Entry, sign int64) {
	c.bytes[e.Codec()].Add(sign * int64(e.Length()))
	c.footprint.Add(sign * int64(image.Footprint(e.Length())))
}

// sum adds up one counter over the workers and what was there at Open.
func (s *Store) sum(pick func(*counters) *atomic.Int64) uint64 {
	total := pick(&s.base).Load()
	for _, w := range s.workers {
		total += pick(&w.count).Load()
	}
	return uint64(max(total, 0)) // a page may have been moved between two of them
}

// footprint is what the objects take of their segments, in bytes.
func (s *Store) footprint() uint64 {
	return s.sum(func(c *counters) *atomic.Int64 { return &c.footprint })
}

// Stats takes a snapshot. It never makes a request wait; counters that requests change
// during the call may be a page apart.
func (s *Store) Stats() Stats {
	st := Stats{
		MemUsedTotal: uint64(s.used()), MemLimit: s.asked.Load(), MemUsedMax: uint64(s.peak.Load()),
		PagesCompacted: uint64(s.compacts.Load()) / PageSize, IndexBytes: uint64(s.indexBytes()),
		RecountedSegments: uint64(s.recounts.Load()),
		HugePagesSince:    s.total(totalHuge),
		FailedReads:       s.errors.of(failedRead),
		FailedWrites:      s.errors.of(failedWrite),
		ChecksumErrors:    s.errors.of(checksumError),
		NotifyFree:        s.total(totalDiscards),
		Reads:             s.total(totalReads),
		Writes:            s.writes(),
		BackingReads:      s.total(totalBackingReads),
		BackingWrites:     uint64(s.writtenBack.writes.Load()),
		BackingErrors:     s.errors.of(failedWriteback),
		BackingPages:      s.writtenBack.blocks.end,
	}
	s.mu.Lock()
	st.ReserveBytes = uint64(len(s.ready)) * image.SegmentSize
	s.mu.Unlock()
	for id := range st.Codecs {
		c := &st.Codecs[id]
		c.Pages = s.sum(func(c *counters) *atomic.Int64 { return &c.pages[id] })
		c.Bytes = s.sum(func(c *counters) *atomic.Int64 { return &c.bytes[id] })
		st.OrigDataSize += c.Pages * PageSize
		if codec.ID(id) == image.WrittenBack {
			st.WrittenBack, *c = c.Pages, CodecStats{}
		}
		st.ComprDataSize += c.Bytes
		if codec.ID(id) >= image.SameSmall {
			st.SamePages += c.Pages
		}
	}
	st.HugePages = st.Codecs[codec.Raw].Pages
	st.RecompressedSince = uint64(s.recompressed.Load())
	st.Ages = s.ageStats()
	return st
}

// used is the memory taken from the machine, in bytes.
func (s *Store) used() int64 { return s.charged.Load() }

// backedBytes is what of it the segments have.
func (s *Store) backedBytes() int64 { return s.used() - s.indexBytes() }

func (s *Store) indexBytes() int64 {
	return s.image.IndexOffset + (s.idx.present.Load()+s.ages.present.Load())*PageSize
}

// fixedBytes is what a device of geometry g takes for anything to be stored,
// segments aside.
func fixedBytes(g image.Geometry) int64 {
	if g.Pages*PageSize > populateUpTo {
		return g.IndexOffset + 2*PageSize
	}
	return g.IndexOffset + int64(g.IndexPages+g.AgePages())*PageSize
}

// charge counts n more bytes as taken, if they stay within the memory limit.
func (s *Store) charge(n int64) bool {
	for {
		old := s.charged.Load()
		if limit := s.limit.Load(); limit != 0 && uint64(old+n) > limit {
			return false
		}
		if s.charged.CompareAndSwap(old, old+n) {
			s.notePeak(old + n)
			return true
		}
	}
}

func (s *Store) notePeak(now int64) { s.peak.raise(now) }
