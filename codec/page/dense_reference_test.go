// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The reference is written from docs/page-dense-format.md, and takes its codes from there. It
// shares nothing with the code that it judges.

const denseDocumentPath = "../../docs/page-dense-format.md"

// segmentNames are the document's words for the segments, in their order.
var segmentNames = []string{"tokens", "literals", "near bytes", "far low bytes", "far high bytes"}

// denseDocument reads the lengths of the codes, which stand under a heading with the segment
// and the code's number, as lines of hexadecimal digits.
var denseDocument = sync.OnceValues(func() (map[string][]int, error) {
	return lengthsIn(denseDocumentPath, []string{"literals 3", "far low bytes 1", "far high bytes 1"})
})

// lengthsIn reads the lengths of codes from a document, and adds those of codes of eight bits.
func lengthsIn(path string, raws []string) (lengths map[string][]int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lengths = map[string][]int{}
	heading := ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			heading, _, _ = strings.Cut(strings.TrimSpace(name), ":")
		} else if strings.HasPrefix(line, "#") {
			heading = ""
		}
		digits, ok := strings.CutPrefix(line, "    ")
		if heading == "" || !ok {
			continue
		}
		for _, digit := range strings.TrimSpace(digits) {
			n, err := strconv.ParseUint(string(digit), 16, 8)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", heading, err)
			}
			lengths[heading] = append(lengths[heading], int(n))
		}
	}
	for _, raw := range raws {
		lengths[raw] = slices.Repeat([]int{8}, 256)
	}
	return lengths, nil
}

// A bitCode is a code as a table from the length and the number of a code, its first bit in front,
// to a symbol and one more.
type bitCode struct {
	symbols    [11][1 << 10]int
	favourites int
}

// bitCodes are the document's codes by segment and number.
var bitCodes = sync.OnceValue(func() map[string]*bitCode {
	lengths, err := denseDocument()
	if err != nil {
		panic(err) // no document, no reference
	}
	return bitCodesOf(lengths)
})

func bitCodesOf(lengths map[string][]int) map[string]*bitCode {
	all := map[string]*bitCode{}
	for name, list := range lengths {
		all[name] = newBitCode(list)
	}
	return all
}

func newBitCode(list []int) *bitCode {
	c := &bitCode{favourites: len(list) - 256}
	number := 0
	for length := 1; length <= 10; length++ {
		for symbol, l := range list {
			if l == length {
				c.symbols[length][number] = symbol + 1
				number++
			}
		}
		number *= 2
	}
	return c
}

// A bitLane is a lane some of whose bits were read.
type bitLane struct {
	region   []byte
	backward bool
	read     int
}

// bit returns bit k of a lane.
func (l *bitLane) bit(k int) int {
	x := l.region[k/8]
	if l.backward {
		x = l.region[len(l.region)-1-k/8]
	}
	return int(x >> (k % 8) & 1)
}

func (l *bitLane) symbol(c *bitCode) (int, error) {
	number := 0
	for n := 1; n <= 10 && l.read < 8*len(l.region); n++ {
		number = 2*number + l.bit(l.read)
		l.read++
		if symbol := c.symbols[n][number]; symbol > 0 {
			return symbol - 1, nil
		}
	}
	return 0, errBroken
}

// bytes is how many of its bytes were read, in part at least.
func (l *bitLane) bytes() int { return (l.read + 7) / 8 }

// A denseReference is a dense object on its way to its streams.
type denseReference struct {
	lanes      [4]bitLane
	codes      [5]*bitCode
	favourites [5][]byte
}

// segment decodes n symbols of a segment.
func (r *denseReference) segment(i, n int) ([]byte, error) {
	var all []byte
	for k := range n {
		symbol, err := r.lanes[k%4].symbol(r.codes[i])
		if err != nil {
			return nil, err
		}
		if symbol >= 256 {
			symbol = int(r.favourites[i][symbol-256])
		}
		all = append(all, byte(symbol))
	}
	return all, nil
}

// denseReferenceDecode returns the page of an object.
func denseReferenceDecode(object []byte) ([]byte, error) {
	streams, err := denseReferenceStreams(object)
	if err != nil {
		return nil, err
	}
	return streams.text(4096)
}

// A denseStreams holds the symbols of an object's segments.
type denseStreams [5][]byte

// denseReferenceStreams returns the streams of an object.
func denseReferenceStreams(object []byte) (streams denseStreams, err error) {
	if len(object) < 5 || len(object) > 4095 {
		return streams, errBroken
	}
	var r denseReference
	counts := int(object[0]) + 256*int(object[1]) + 65536*int(object[2])
	choice, border, body := int(object[3]), int(int8(object[4])), object[5:]
	for i, kinds := range []int{4, 4, 4, 2, 2} {
		r.codes[i] = bitCodes()[segmentNames[i]+" "+strconv.Itoa(choice%kinds)]
		choice /= kinds
		n := r.codes[i].favourites
		if n > len(body) {
			return streams, errBroken
		}
		r.favourites[i], body = body[:n], body[n:]
	}
	middle := len(body)/2 + border
	if middle < 0 || middle > len(body) {
		return streams, errBroken
	}
	for i := range r.lanes {
		r.lanes[i] = bitLane{region: [][]byte{body[:middle], body[middle:]}[i/2], backward: i%2 == 1}
	}
	if streams, err = r.streams(counts%4096, counts/4096); err != nil {
		return streams, err
	}
	left0, left1 := middle-r.lanes[0].bytes()-r.lanes[1].bytes(), len(body)-middle-r.lanes[2].bytes()-r.lanes[3].bytes()
	if left0 < 0 || left1 < 0 || left0 > 0 && border != -128 || left1 > 0 && border != 127 {
		return streams, errBroken
	}
	return streams, nil
}

// streams decodes the segments.
func (r *denseReference) streams(literals, tokens int) (streams denseStreams, err error) {
	counts := [5]int{tokens, literals}
	for i := range streams {
		if streams[i], err = r.segment(i, counts[i]); err != nil {
			return streams, err
		}
		if i == 0 {
			counts[2], counts[3] = countedDistances(streams[0])
			counts[4] = counts[3]
		}
	}
	return streams, nil
}

// text has the tokens read as those of a plain object that stands for size bytes.
func (s denseStreams) text(size int) ([]byte, error) {
	plain := reference{size: size, literals: s[1], distances: s[2], remembered: []int{1, 8, 4, 16}}
	for i := len(s[3]) - 1; i >= 0; i-- {
		plain.distances = append(plain.distances, s[3][i], s[4][i])
	}
	for _, number := range s[0] {
		if err := plain.token(int(number)); err != nil {
			return nil, err
		}
	}
	if len(plain.page) != size || len(plain.literals) > 0 || len(plain.distances) > 0 {
		return nil, errBroken
	}
	return plain.page, nil
}

// countedDistances counts the tokens that have near bytes and far words.
func countedDistances(tokens []byte) (nears, fars int) {
	for _, number := range tokens {
		switch {
		case number >= 254 || document().tokens[number].distance == "near":
			nears++
		case document().tokens[number].distance == "far":
			fars++
		}
	}
	return nears, fars
}

// A denseMaker writes streams as an object in any of the ways in which that can be done.
type denseMaker struct {
	rng   *rand.Rand
	lanes [4]string // one character a bit
}

// madeDenseObject returns an object with everything that the format allows, which our encoder
// seldom makes, and sometimes with something that it does not.
func madeDenseObject(seed uint64) []byte {
	m := denseMaker{rng: rand.New(rand.NewPCG(seed, 5))}
	plain := madeObject(seed)
	s, ok := split(plain)
	if !ok {
		return plain
	}
	nears, fars := countedDistances(s.tokens)
	streams := [5][]byte{s.tokens, s.literals, s.distances[:min(nears, len(s.distances))], nil, nil}
	for i := len(s.distances) - 2; i >= 0 && len(streams[3]) < fars; i -= 2 {
		streams[3], streams[4] = append(streams[3], s.distances[i]), append(streams[4], s.distances[i+1])
	}
	object := append([]byte(nil), plain[:3]...)
	object = append(object, 0, 0)
	factor := 1
	for i, kinds := range []int{4, 4, 4, 2, 2} {
		choice := m.rng.IntN(kinds)
		object[3] += byte(choice * factor)
		factor *= kinds
		c := bitCodes()[segmentNames[i]+" "+strconv.Itoa(choice)]
		if i == 1 && m.rng.IntN(4) == 0 {
			m.unequal(streams[i], c)
		}
		object = append(object, m.write(streams[i], c)...)
	}
	return m.join(object)
}

// unequal replaces symbols by those with the shortest codes in one region, and with the longest in
// the other one.
func (m *denseMaker) unequal(stream []byte, c *bitCode) {
	var sorted []byte
	for length := range c.symbols {
		for _, symbol := range c.symbols[length] {
			if symbol > 0 {
				sorted = append(sorted, byte(symbol-1))
			}
		}
	}
	first := m.rng.IntN(2)
	for i := range stream {
		stream[i] = sorted[m.rng.IntN(4)]
		if i/2%2 == first {
			stream[i] = sorted[255-m.rng.IntN(4)]
		}
	}
}

// write adds a segment to the lanes and returns the favourites: any bytes, some of them more than
// once.
func (m *denseMaker) write(stream []byte, c *bitCode) (favourites []byte) {
	codes := map[int]string{}
	for length := range c.symbols {
		for number, symbol := range c.symbols[length] {
			if symbol > 0 {
				codes[symbol-1] = fmt.Sprintf("%0*b", length, number)
			}
		}
	}
	named := map[byte][]string{}
	for i := range c.favourites {
		b := byte(m.rng.Uint32())
		if len(stream) > 0 && m.rng.IntN(8) > 0 {
			b = stream[m.rng.IntN(len(stream))]
		}
		favourites = append(favourites, b)
		named[b] = append(named[b], codes[256+i])
	}
	for i, b := range stream {
		ways := append([]string{codes[int(b)]}, named[b]...)
		m.lanes[i%4] += ways[m.rng.IntN(len(ways))]
	}
	return favourites
}

// join puts the lanes behind the header and the favourites and says where the border is.
func (m *denseMaker) join(object []byte) []byte {
	var regions [2][]byte
	var packed [4][]byte
	for i, bits := range m.lanes {
		for len(bits)%8 > 0 {
			bits += string('0' + rune(m.rng.IntN(20)/19)) // seldom more than padding
		}
		for ; bits != ""; bits = bits[8:] {
			x := byte(0)
			for bit := range 8 {
				x |= (bits[bit] - '0') << bit
			}
			packed[i] = append(packed[i], x)
		}
	}
	pad := [2]int{}
	first, second := len(packed[0])+len(packed[1]), len(packed[2])+len(packed[3])
	switch {
	case first-(first+second)/2 > 127:
		pad[1] = first - second - 254
	case first-(first+second)/2 < -128:
		pad[0] = second - first - 256
	}
	if m.rng.IntN(50) == 0 {
		pad[m.rng.IntN(2)] += 1 + m.rng.IntN(2)*m.rng.IntN(300)
	}
	for i := range regions {
		regions[i] = append(packed[2*i], make([]byte, pad[i])...)
		slices.Reverse(packed[2*i+1])
		regions[i] = append(regions[i], packed[2*i+1]...)
	}
	object[4] = byte(len(regions[0]) - (len(regions[0])+len(regions[1]))/2)
	return append(append(object, regions[0]...), regions[1]...)
}
