// SPDX-License-Identifier: Apache-2.0

package page

import (
	"errors"
	"fmt"
)

// ClusterPages is how many pages a cluster's object stands for.
const ClusterPages = 4

// MaxClusterObject is the length in bytes of the longest object of a cluster.
const MaxClusterObject = clusterHeader + ClusterPages*MaxObject

// clusterHeader is the size in bytes of such an object's beginning: the lengths of its four parts,
// 12 bits each, the first in the lowest. A part is what a dense object is, but that its matches may
// reach into the pages before its own, and that it begins with the distances that are remembered at
// the end of the part before it.
const clusterHeader = ClusterPages * 12 / 8

// ErrIndex reports a number that no page of a cluster has.
var ErrIndex = errors.New("page numbers in a cluster are 0 to 3")

// A ClusterEncoder compresses four pages together at the dense level, one cluster after another.
// That takes fewer bytes than their own objects where the pages have something in common, as
// neighbours have, and several times as long. It takes 129 KiB. The zero value is ready. It is not
// safe for concurrent use.
type ClusterEncoder struct {
	routines *denseRoutines // immutable; nil for the best
	clusterSearch
	densePacker
}

// NewClusterEncoder makes an encoder for one worker that uses no more than set of this machine's
// instructions, or the best if set is empty: that changes the speed, not the objects. A set that
// may not be used here is an error that wraps [ErrUnavailable].
func NewClusterEncoder(set Set) (*ClusterEncoder, error) {
	e, err := denseTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make page cluster encoder: %w", err)
	}
	return &ClusterEncoder{routines: &e.F}, nil
}

// CompressCluster writes the object of four pages, each of exactly [Size] bytes (else [ErrSize]),
// to dst and returns its length in bytes, or 0 where it would be longer than dst or one of its
// parts than [MaxObject]; what it left in dst then means nothing. With [MaxClusterObject] bytes the
// length of dst is no limit. Nothing beyond it is written. The pages must not overlap dst.
func (e *ClusterEncoder) CompressCluster(dst []byte, pages [ClusterPages][]byte) (int, error) {
	for _, page := range pages {
		if len(page) != Size {
			return 0, fmt.Errorf("compress cluster with a page of %d bytes: %w", len(page), ErrSize)
		}
	}
	r := e.routines
	if r == nil {
		r = &bestDense
	}
	e.begin(pages)
	n, lengths := clusterHeader, uint64(0)
	for i, page := range pages {
		e.parse(i, page)
		length := e.pack(dst[min(n, len(dst)):], &e.page, r.write)
		if length == 0 {
			return 0, nil
		}
		lengths |= uint64(length) << (12 * i)
		n += length
	}
	for i := range clusterHeader {
		dst[i] = byte(lengths >> (8 * i))
	}
	return n, nil
}

// A ClusterDecoder is a [DenseDecoder] that also brings back pages out of what a [ClusterEncoder]
// made. It takes 93 KiB. The zero value is ready. It is not safe for concurrent use.
type ClusterDecoder struct {
	DenseDecoder
	text      [ClusterPages * Size]byte // the pages up to the wanted one
	literals  [ClusterPages*Size + block]byte
	distances [ClusterPages*Size + block]byte
	tokens    [ClusterPages*Size + block]byte
}

// NewClusterDecoder makes a decoder for one worker that uses no more than set, or the best if set
// is empty. A set that may not be used here is an error that wraps [ErrUnavailable].
func NewClusterDecoder(set Set) (*ClusterDecoder, error) {
	e, err := denseTable.For(set)
	if err != nil {
		return nil, fmt.Errorf("make page cluster decoder: %w", err)
	}
	return &ClusterDecoder{DenseDecoder: DenseDecoder{routines: &e.F}}, nil
}

// DecompressCluster fills dst, of exactly [Size] bytes (else [ErrSize]), with page number index, 0
// to 3 (else [ErrIndex]), of the cluster whose object this is. It decodes the pages before that one
// as well, but none behind it, and of what those are in the object sees their lengths alone. Errors
// and promises are those of [DenseDecoder.Decompress].
func (d *ClusterDecoder) DecompressCluster(dst []byte, index int, object []byte) error {
	if len(dst) != Size {
		return fmt.Errorf("decompress page of a cluster to %d bytes: %w", len(dst), ErrSize)
	}
	if index < 0 || index >= ClusterPages {
		return fmt.Errorf("decompress page %d of a cluster: %w", index, ErrIndex)
	}
	r := d.routines
	if r == nil {
		r = &bestDense
	}
	parts, ok := splitCluster(object)
	if !ok {
		return fmt.Errorf("decompress page cluster object of %d bytes: %w", len(object), ErrCorrupt)
	}
	text := d.text[:(index+1)*Size]
	if s, ok := d.join(parts[:index+1], r.read); !ok || !r.decode(text, s) {
		return fmt.Errorf("decompress page %d of page cluster object of %d bytes: %w", index, len(object), ErrCorrupt)
	}
	copy(dst, text[index*Size:])
	return nil
}

// splitCluster finds the parts of an object. It reports false if they are not what it consists of.
func splitCluster(object []byte) (parts [ClusterPages][]byte, ok bool) {
	if len(object) < clusterHeader {
		return parts, false
	}
	lengths := uint64(0)
	for i, b := range object[:clusterHeader] {
		lengths |= uint64(b) << (8 * i)
	}
	left := object[clusterHeader:]
	for i := range parts {
		n := int(lengths >> (12 * i) & 0xfff)
		if n > len(left) {
			return parts, false
		}
		parts[i], left = left[:n], left[n:]
	}
	return parts, len(left) == 0
}

// join finds the streams of all parts behind one another: the near bytes from the front of the
// distances on, and the far words from their back. They are those of one object that stands for all
// of the parts' pages.
func (d *ClusterDecoder) join(parts [][]byte, read readFunc) (streams, bool) {
	literals, tokens, nears, fars := 0, 0, 0, len(d.distances)
	for _, part := range parts {
		s, ok := d.unpack(part, read)
		if !ok {
			return s, false
		}
		literals += copy(d.literals[literals:], s.literals)
		tokens += copy(d.tokens[tokens:], s.tokens)
		first, last := s.distances[:d.nears], s.distances[d.nears:]
		nears += copy(d.distances[nears:], first)
		fars -= len(last)
		copy(d.distances[fars:], last)
	}
	distances := nears + copy(d.distances[nears:], d.distances[fars:])
	return streams{d.literals[:literals], d.distances[:distances], d.tokens[:tokens]}, true
}
