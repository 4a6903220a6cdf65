// SPDX-License-Identifier: Apache-2.0

package page

import "slices"

// own holds the lengths of an own code by byte, zero for a byte that has none.
type own [256]uint8

// An ownMaker makes codes for what is in a cluster.
type ownMaker struct {
	sorted  [256]uint32 // how often each byte is there, times 256, plus the byte
	weights [512]uint32 // of the tree's nodes, leaves first
	parents [512]uint16
}

// make finds the lengths of the code in which bytes that are there so often take fewest bits,
// of codes of up to maxCode bits. There must be one byte at least; a byte that is alone gets
// company, so that the code is complete.
func (m *ownMaker) make(lengths *own, counts *[256]uint32) {
	*lengths = own{}
	n := 0
	for b, count := range counts {
		if count > 0 {
			m.sorted[n] = count<<8 | uint32(b)
			n++
		}
	}
	if n == 1 {
		b := byte(m.sorted[0])
		lengths[b], lengths[b^1] = 1, 1
		return
	}
	sorted := m.sorted[:n]
	slices.Sort(sorted)
	ofLength := m.depths(sorted)
	limit(&ofLength)
	next := n
	for length, many := range ofLength {
		for range many {
			next--
			lengths[byte(sorted[next])] = uint8(length)
		}
	}
}

// depths makes the tree and counts its leaves by depth; those deeper than maxCode count as
// that deep. The last node is the root.
func (m *ownMaker) depths(sorted []uint32) (ofLength [maxCode + 1]int) {
	n := len(sorted)
	for i, s := range sorted {
		m.weights[i] = s >> 8
	}
	leaf, inner := 0, n
	for node := n; node < 2*n-1; node++ {
		m.weights[node] = 0
		for range 2 {
			least := &inner
			if leaf < n && (inner >= node || m.weights[leaf] <= m.weights[inner]) {
				least = &leaf
			}
			m.weights[node] += m.weights[*least]
			m.parents[*least] = uint16(node)
			*least++
		}
	}
	m.weights[2*n-2] = 0 // from here on depths
	for i := 2*n - 3; i >= 0; i-- {
		m.weights[i] = m.weights[m.parents[i]] + 1
		if i < n {
			ofLength[min(m.weights[i], maxCode)]++
		}
	}
	return ofLength
}

// limit makes a code of numbers of codes by length that may be too many together: it moves the
// longest of the shorter codes back until all have room.
func limit(ofLength *[maxCode + 1]int) {
	total := 0
	for length, many := range ofLength {
		total += many << (maxCode - length)
	}
	for ; total > 1<<maxCode; total-- {
		ofLength[maxCode]--
		length := maxCode - 1
		for ofLength[length] == 0 {
			length--
		}
		ofLength[length]--
		ofLength[length+1] += 2
	}
}

// appendSymbols appends the symbols that give the lengths in an object: each is a length and,
// times 16, how often it is there in turn, less one.
func (lengths *own) appendSymbols(list []byte) []byte {
	for i := 0; i < len(lengths); {
		n := 1
		for n < runOfLengths && i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		list = append(list, byte(n-1)<<4|lengths[i])
		i += n
	}
	return list
}

// fromSymbols does the reverse. It reports false if the symbols do not give 256 lengths of a
// complete code.
func (lengths *own) fromSymbols(symbols []byte) bool {
	at, total := 0, 0
	for _, symbol := range symbols {
		n, length := int(symbol>>4)+1, symbol&15
		if at+n > len(lengths) || length > maxCode {
			return false
		}
		if length > 0 {
			total += n << (maxCode - length)
		}
		for i := range lengths[at : at+n] {
			lengths[at+i] = length
		}
		at += n
	}
	return at == len(lengths) && total == 1<<maxCode
}

// encode makes the bits of each byte in the canonical code of the lengths, as a code has them.
func (lengths *own) encode(codes *[256]uint16) {
	next := lengths.first()
	for b, length := range lengths {
		if length > 0 {
			codes[b] = uint16(reversed(int(next[length]), int(length))<<lengthBits | int(length))
			next[length]++
		}
	}
}

// decode makes the table that decodes the code of the lengths, as a code has it.
func (lengths *own) decode(table *[1 << maxCode]uint16) {
	next := lengths.first()
	for b, length := range lengths {
		if length == 0 {
			continue
		}
		entry := uint16(b<<lengthBits | int(length))
		for i := int(reverse10[next[length]]) >> (maxCode - length); i < len(table); i += 1 << length {
			table[i] = entry
		}
		next[length]++
	}
}

// first returns the first code of each length.
func (lengths *own) first() (next [16]uint16) {
	var many [16]uint16
	for _, length := range lengths {
		many[length&15]++
	}
	many[0] = 0
	for length := 1; length <= maxCode; length++ {
		next[length] = (next[length-1] + many[length-1]) << 1
	}
	return next
}

// reverse10 holds the numbers of maxCode bits with their bits in the other order. It is
// immutable once made.
var reverse10 = func() (t [1 << maxCode]uint16) {
	for i := range t {
		t[i] = uint16(reversed(i, maxCode))
	}
	return t
}()
