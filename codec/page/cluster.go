// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math/bits"
)

// A ClusterEncoder compresses up to eight pages together, one cluster after another, to
// objects that are the shorter the more the pages have in common, as neighbours have. It takes
// thirty times as long as a [DenseEncoder], for objects shorter by a quarter: it is for pages
// that are seldom read. It takes 669 KiB. The zero value is ready. It is not safe for
// concurrent use.
type ClusterEncoder struct {
	parser  clusterParser
	streams clusterStreams
	packer  clusterPacker
	counts  histogram
}

// NewClusterEncoder makes an encoder for one worker. It uses the same instructions whatever
// set says, but a set that may not be used here is an error that wraps [ErrUnavailable].
func NewClusterEncoder(set Set) (*ClusterEncoder, error) {
	if _, err := denseTable.For(set); err != nil {
		return nil, fmt.Errorf("make page cluster encoder: %w", err)
	}
	clusterCodes() // so that no later call makes them
	return new(ClusterEncoder), nil
}

// CompressCluster writes the object of some pages to dst and returns its length in bytes. A
// nil page is absent: it takes no part and cannot be read. Any other has exactly [Size] bytes,
// else the error wraps [ErrSize]; if all are absent it wraps [ErrNoPages]. The length is 0
// where the object would be longer than dst or than [MaxClusterObject], or a page needs too
// many tokens; what it left in dst then means nothing. Nothing beyond dst is written. The
// pages must not overlap dst.
func (e *ClusterEncoder) CompressCluster(dst []byte, pages [ClusterPages][]byte) (int, error) {
	present, count := uint8(0), 0
	for i, page := range pages {
		if page == nil {
			continue
		}
		if len(page) != Size {
			return 0, fmt.Errorf("compress cluster with a page of %d bytes: %w", len(page), ErrSize)
		}
		copy(e.parser.text[margin+count*Size:], page)
		present |= 1 << i
		count++
	}
	if count == 0 {
		return 0, fmt.Errorf("compress cluster: %w", ErrNoPages)
	}
	clear(e.parser.text[margin+count*Size:][:margin]) // so that nothing of earlier pages is seen
	e.parser.find(count)
	differences := e.survey(count)
	e.run(count, differences)
	e.streams.count(&e.counts)
	for i := range e.counts {
		e.packer.choose(i, &e.counts[i])
	}
	return e.packer.pack(dst, &e.streams, present, differences), nil
}

// surveyed is how many pages show which codes are best for a cluster.
const surveyed = 2

// run finds the tokens of some pages at the parser's prices.
func (e *ClusterEncoder) run(count int, differences bool) {
	e.parser.differences = differences
	e.streams.begin()
	reps := uint64(firstReps)
	for page := range count {
		reps = e.parser.parse(page, reps)
		e.streams.emit(&e.parser, page, differences)
	}
}

// survey finds tokens at general prices, sets the prices to those of the codes that are best
// for what it found, and reports whether literals are best written as differences.
func (e *ClusterEncoder) survey(count int) (differences bool) {
	for segment := range e.counts {
		e.parser.prices.static(segment, 0)
	}
	e.run(min(count, surveyed), true)
	e.streams.count(&e.counts)
	s := &e.packer.selection
	s.choose(literalSegment, &e.streams.plain)
	plain := s.costs[literalSegment]
	s.choose(literalSegment, &e.counts[literalSegment])
	if differences = s.costs[literalSegment] <= plain; !differences {
		e.counts[literalSegment] = e.streams.plain
	}
	for segment := range e.counts {
		counts := &e.counts[segment]
		s.choose(segment, counts)
		if choice := s.choices[segment]; choice != ownChoice {
			e.parser.prices.static(segment, choice)
		} else {
			e.parser.prices.own(segment, counts, sum(counts))
		}
	}
	return differences
}

// A ClusterDecoder brings back pages out of what a [ClusterEncoder] made. It keeps room to
// work in between calls: 183 KiB. The zero value is ready. It is not safe for concurrent use.
type ClusterDecoder struct {
	routines *denseRoutines // immutable; nil for the best
	whole    bool           // the text is all of the last object that Decode was given
	clusterUnpacker
}

// NewClusterDecoder makes a decoder for one worker that uses no more than set, or the best if set
// is empty. A set that may not be used here is an error that wraps [ErrUnavailable].
func NewClusterDecoder(set Set) (*ClusterDecoder, error) {
	e, err := denseTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make page cluster decoder: %w", err)
	}
	clusterCodes() // so that no later call makes them
	return &ClusterDecoder{routines: &e.F}, nil
}

// DecompressCluster fills dst, of exactly [Size] bytes (else [ErrSize]), with page number
// index, 0 to 7 (else [ErrIndex]), of the cluster that object stands for. Up to seven bytes of
// zeros may follow the object. It decodes the pages before that one as well, but none behind
// it. It returns an error that wraps [ErrCorrupt], and leaves anything in dst, where there is
// no such page; it never panics and never writes outside dst, whatever object holds. Damage
// that makes it another cluster's object passes unnoticed. The two buffers must not overlap.
func (d *ClusterDecoder) DecompressCluster(dst []byte, index int, object []byte) error {
	if len(dst) != Size {
		return fmt.Errorf("decompress page of a cluster to %d bytes: %w", len(dst), ErrSize)
	}
	if index < 0 || index >= ClusterPages {
		return fmt.Errorf("decompress page %d of a cluster: %w", index, ErrIndex)
	}
	pages, err := d.decode(index, object)
	if err != nil {
		return err
	}
	copy(dst, d.text[clusterMargin+(pages-1)*Size:])
	return nil
}

// decode decodes the pages up to number index and returns how many these are.
func (d *ClusterDecoder) decode(index int, object []byte) (pages int, err error) {
	d.whole = false
	r := d.routines
	if r == nil {
		r = &bestDense
	}
	pages, s, ok := d.unpack(object, index, r.read)
	if !ok || !r.cluster(&d.text, pages*Size, s, d.head.differences) {
		return 0, fmt.Errorf("decompress page %d of page cluster object of %d bytes: %w", index, len(object), ErrCorrupt)
	}
	return pages, nil
}

// Decode decodes all pages of the cluster that object stands for, which Page then returns: that
// takes as long as [ClusterDecoder.DecompressCluster] of the last one, whose errors and promises
// it has.
func (d *ClusterDecoder) Decode(object []byte) error {
	d.whole = false
	if !d.head.get(object) {
		return fmt.Errorf("decompress page cluster object of %d bytes: %w", len(object), ErrCorrupt)
	}
	if _, err := d.decode(bits.Len8(d.head.present)-1, object); err != nil {
		return err
	}
	d.whole = true
	return nil
}

// Page returns page number index of the cluster that Decode has decoded, valid until the next
// call of another method. It is nil for an absent page, and where Decode was not the last call,
// or failed.
func (d *ClusterDecoder) Page(index int) []byte {
	if !d.whole || index < 0 || index >= ClusterPages || d.head.present>>index&1 == 0 {
		return nil
	}
	at := clusterMargin + bits.OnesCount8(d.head.present&(1<<index-1))*Size
	return d.text[at : at+Size : at+Size]
}
