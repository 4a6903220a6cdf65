// SPDX-License-Identifier: Apache-2.0

package page

import "encoding/binary"

// clusterOrder is the order in which a page's segments are coded: with the near bytes the
// number of literals is known. It is immutable.
var clusterOrder = [segments]int{tokenSegment, nearSegment, literalSegment, farLowSegment, farHighSegment}

// A clusterPacker puts objects of clusters together.
type clusterPacker struct {
	selection
	room  [segments][256]uint16 // codes of bytes
	codes [segments]*[256]uint16
	sizes [lanes]int // of the lanes, in bits
	lanes [lanes]clusterLane
}

// A clusterLane is a lane on its way to an object.
type clusterLane struct {
	bits  uint64
	count uint
	at    int // where the next byte goes
	step  int // 1, or -1 where the lane runs backwards
}

// each calls f for every segment of a cluster, in the order in which they are coded.
func (c *clusterPacker) each(s *clusterStreams, pages int, f func(c *clusterPacker, dst []byte, codes *[256]uint16, segment []byte), dst []byte) {
	for i := range c.codes {
		if c.choices[i] == ownChoice {
			f(c, dst, (*[256]uint16)(lengthsCode.encode[:]), c.lists[i][:c.lengths[i]])
		}
	}
	from := clusterPage{}
	for _, to := range s.pages[:pages] {
		for _, i := range clusterOrder {
			f(c, dst, c.codes[i], s.all(i, from, to))
		}
		from = to
	}
}

// pack writes the object of the pages that are present, by a bit for each, and returns its
// length, or 0 if it does not fit.
func (c *clusterPacker) pack(dst []byte, s *clusterStreams, present uint8, differences bool) int {
	head := clusterHead{present: present, choices: c.choices, differences: differences, lengths: c.lengths}
	pages, before := head.pages(), 0
	for i, page := range s.pages[:pages] {
		head.tokens[i] = page.tokens - before
		before = page.tokens
		if head.tokens[i] >= 1<<countWidth {
			return 0
		}
	}
	for i := range c.codes {
		c.codes[i] = c.codesOf(i, &c.room[i])
	}
	c.sizes = [lanes]int{}
	c.each(s, pages, (*clusterPacker).measure, nil)
	var bytes [lanes]int
	for i, size := range c.sizes {
		bytes[i] = (size + 7) / 8
	}
	head.regions = [2]int{bytes[0] + bytes[1], bytes[2] + bytes[3]}
	begin := head.size()
	middle := begin + head.regions[0]
	end := middle + head.regions[1]
	if end > min(len(dst), MaxClusterObject) {
		return 0
	}
	head.put(dst)
	c.lanes = [lanes]clusterLane{{at: begin, step: 1}, {at: middle - 1, step: -1}, {at: middle, step: 1}, {at: end - 1, step: -1}}
	c.each(s, pages, (*clusterPacker).write, dst)
	for i := range c.lanes {
		if l := &c.lanes[i]; l.count > 0 {
			dst[l.at] = byte(l.bits)
		}
	}
	return end
}

// measure adds what a segment takes to the sizes of the lanes.
func (c *clusterPacker) measure(_ []byte, codes *[256]uint16, segment []byte) {
	for i, b := range segment {
		c.sizes[i%lanes] += int(codes[b] & lengthMask)
	}
}

// write writes a segment.
func (c *clusterPacker) write(dst []byte, codes *[256]uint16, segment []byte) {
	for lane := range c.lanes {
		l := c.lanes[lane]
		for i := lane; i < len(segment); i += lanes {
			e := codes[segment[i]]
			l.bits |= uint64(e>>lengthBits) << l.count
			l.count += uint(e & lengthMask)
			if l.count >= 32 {
				l.flush(dst)
			}
		}
		for ; l.count >= 8; l.count -= 8 {
			dst[l.at] = byte(l.bits)
			l.bits >>= 8
			l.at += l.step
		}
		c.lanes[lane] = l
	}
}

// flush writes four bytes.
func (l *clusterLane) flush(dst []byte) {
	if l.step > 0 {
		binary.LittleEndian.PutUint32(dst[l.at:], uint32(l.bits))
	} else {
		binary.BigEndian.PutUint32(dst[l.at-3:], uint32(l.bits))
	}
	l.at += 4 * l.step
	l.bits >>= 32
	l.count -= 32
}
