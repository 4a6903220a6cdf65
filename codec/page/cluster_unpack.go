// SPDX-License-Identifier: Apache-2.0

package page

// A clusterUnpacker is the room that a cluster's object is decoded in.
type clusterUnpacker struct {
	head      clusterHead
	positions positions
	tables    [segments][1 << maxCode]uint16 // of own codes
	lengths   own
	symbols   [256 + block]byte // that give an own code's lengths
	// The object, with as much room around it as the lanes of a page may go too far.
	scratch   [scratchMargin + MaxClusterObject + scratchMargin]byte
	tokens    [ClusterPages*Size + block]byte
	literals  [ClusterPages*Size + block]byte
	distances [ClusterPages*Size + block]byte // near bytes from the front on, far words from the back
	farLow    [Size/2 + block]byte
	farHigh   [Size/2 + block]byte
	text      clusterText
}

// A clusterPart is how much of each stream is there.
type clusterPart struct{ tokens, literals, nears, fars int }

// unpack decodes the streams of an object's pages up to number index, and returns how many
// that are. It reports false if they cannot be there, or that page is absent.
func (u *clusterUnpacker) unpack(object []byte, index int, read readFunc) (pages int, s streams, ok bool) {
	h := &u.head
	if !h.get(object) || h.present>>index&1 == 0 {
		return 0, s, false
	}
	wanted := clusterHead{present: h.present & (1<<(index+1) - 1)}
	pages = wanted.pages()
	begin := h.size()
	n := begin + h.regions[0] + h.regions[1]
	copy(u.scratch[scratchMargin:], object[:n])
	middle := 8 * (scratchMargin + begin + h.regions[0])
	u.positions = positions{8 * (scratchMargin + begin), middle, middle, 8 * (scratchMargin + n)}
	decode, ok := u.codes(read)
	if !ok {
		return 0, s, false
	}
	part := clusterPart{fars: len(u.distances)}
	for page := range pages {
		if !u.page(&part, h.tokens[page], &decode, read) {
			return 0, s, false
		}
	}
	if pages == h.pages() && !u.whole() {
		return 0, s, false
	}
	distances := part.nears + copy(u.distances[part.nears:], u.distances[part.fars:])
	return pages, streams{u.literals[:part.literals], u.distances[:distances], u.tokens[:part.tokens]}, true
}

// codes finds the tables that decode the segments.
func (u *clusterUnpacker) codes(read readFunc) (decode [segments]*[1 << maxCode]uint16, ok bool) {
	for i, choice := range u.head.choices {
		if choice != ownChoice {
			if choice >= len(clusterCodes()[i]) {
				return decode, false
			}
			decode[i] = &clusterCodes()[i][choice].decode
			continue
		}
		symbols := u.symbols[:u.head.lengths[i]]
		read(u.scratch[:], &u.positions, &lengthsCode.decode, nil, symbols)
		if !u.within() || !u.lengths.fromSymbols(symbols) {
			return decode, false
		}
		u.lengths.decode(&u.tables[i])
		decode[i] = &u.tables[i]
	}
	return decode, true
}

// page decodes the segments of a page behind those of the pages before it.
func (u *clusterUnpacker) page(part *clusterPart, count int, decode *[segments]*[1 << maxCode]uint16, read readFunc) bool {
	scratch, p := u.scratch[:], &u.positions
	tokens := u.tokens[part.tokens:][:count]
	read(scratch, p, decode[tokenSegment], nil, tokens)
	sums := uint64(0)
	for _, number := range tokens {
		sums += clusterSums[number]
	}
	nears, fars, literals := int(sums&0xffff), int(sums>>16&0xffff), int(sums>>32&0xffff)
	if nears+2*fars > Size {
		return false
	}
	first := u.distances[part.nears:][:nears]
	read(scratch, p, decode[nearSegment], nil, first)
	if sums>>48 > 0 {
		literals += literalsOf(tokens, first)
	}
	if literals > Size {
		return false
	}
	read(scratch, p, decode[literalSegment], nil, u.literals[part.literals:][:literals])
	read(scratch, p, decode[farLowSegment], nil, u.farLow[:fars])
	read(scratch, p, decode[farHighSegment], nil, u.farHigh[:fars])
	for i := range fars {
		last := part.fars - 2*(i+1)
		u.distances[last], u.distances[last+1] = u.farLow[i], u.farHigh[i]
	}
	part.tokens += count
	part.nears += nears
	part.literals += literals
	part.fars -= 2 * fars
	return u.within()
}

// within reports whether the lanes of neither region have met.
func (u *clusterUnpacker) within() bool {
	p := &u.positions
	return (p[0]+7)>>3 <= p[1]>>3 && (p[2]+7)>>3 <= p[3]>>3
}

// whole reports whether the lanes lie next to one another.
func (u *clusterUnpacker) whole() bool {
	p := &u.positions
	return (p[0]+7)>>3 == p[1]>>3 && (p[2]+7)>>3 == p[3]>>3
}
