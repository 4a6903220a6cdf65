// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// The reference for clusters is written from docs/page-cluster-format.md, and takes its table
// and codes from there.

const clusterDocumentPath = "../../docs/page-cluster-format.md"

// clusterDocument reads the table once.
var clusterDocument = sync.OnceValue(func() tableReader { return tableIn(clusterDocumentPath) })

// clusterBitCodes are the document's codes by segment and number.
var clusterBitCodes = sync.OnceValue(func() map[string]*bitCode {
	lengths, err := lengthsIn(clusterDocumentPath, []string{"literals 1", "far low bytes 1", "far high bytes 1"})
	if err != nil {
		panic(err) // no document, no reference
	}
	return bitCodesOf(lengths)
})

// A clusterReference is a cluster's object on its way to a text.
type clusterReference struct {
	denseReference
	differences bool
	streams     [5][]byte // what no token has taken yet
	text        []byte
	remembered  []int
}

// clusterReferenceDecode returns a page of a cluster by its place.
func clusterReferenceDecode(object []byte, place int) ([]byte, error) {
	if len(object) < 7 || len(object) > 32775 || object[0]>>place&1 == 0 {
		return nil, errBroken
	}
	there := bits.OnesCount8(object[0])
	r := clusterReference{remembered: []int{1, 8, 4, 16}}
	choices := int(object[1]) + 256*int(object[2])
	r.differences = choices >= 1<<15
	sizes := [2]int{int(object[3]) + 256*int(object[4]), int(object[5]) + 256*int(object[6])}
	body := object[7:]
	if len(body) < (3*there+1)/2 {
		return nil, errBroken
	}
	var tokens []int
	for i := range there {
		word := int(body[3*i/2]) + 256*int(body[3*i/2+1])
		tokens = append(tokens, []int{word % 4096, word / 16}[i%2])
	}
	body = body[(3*there+1)/2:]
	var lengths []int // how many symbols
	for i := range 5 {
		if choices>>(3*i)&7 == 7 {
			if len(body) == 0 {
				return nil, errBroken
			}
			lengths, body = append(lengths, int(body[0])+1), body[1:]
		}
	}
	if err := r.regions(body, sizes); err != nil {
		return nil, err
	}
	if err := r.findCodes(choices, lengths); err != nil {
		return nil, err
	}
	n := bits.OnesCount8(object[0] & (2<<place - 1))
	return r.page(tokens, n)
}

// regions finds the lanes.
func (r *clusterReference) regions(body []byte, sizes [2]int) error {
	left := len(body) - sizes[0] - sizes[1]
	if left < 0 || left > 7 || strings.Trim(string(body[len(body)-left:]), "\x00") != "" {
		return errBroken
	}
	for i := range r.lanes {
		region := body[:sizes[0]]
		if i >= 2 {
			region = body[sizes[0] : sizes[0]+sizes[1]]
		}
		r.lanes[i] = bitLane{region: region, backward: i%2 == 1}
	}
	return nil
}

// overrun reports whether lanes have met.
func (r *clusterReference) overrun() bool {
	return r.lanes[0].bytes()+r.lanes[1].bytes() > len(r.lanes[0].region) || r.lanes[2].bytes()+r.lanes[3].bytes() > len(r.lanes[2].region)
}

// findCodes finds the codes of the segments.
func (r *clusterReference) findCodes(choices int, lengths []int) error {
	for i := range 5 {
		choice := choices >> (3 * i) & 7
		if choice != 7 {
			if r.codes[i] = clusterBitCodes()[segmentNames[i]+" "+strconv.Itoa(choice)]; r.codes[i] == nil {
				return errBroken
			}
			continue
		}
		r.codes[i] = clusterBitCodes()["lengths 0"]
		symbols, err := r.segment(i, lengths[0])
		if err != nil || r.overrun() {
			return errBroken
		}
		lengths = lengths[1:]
		var list []int
		sum := 0
		for _, symbol := range symbols {
			for range 1 + symbol/16 {
				list = append(list, int(symbol%16))
				if symbol%16 > 0 {
					sum += 1 << (16 - symbol%16)
				}
			}
			if symbol%16 > 10 {
				return errBroken
			}
		}
		if len(list) != 256 || sum != 1<<16 {
			return errBroken
		}
		r.codes[i] = newBitCode(list)
	}
	return nil
}

// page decodes n pages and returns the last one.
func (r *clusterReference) page(tokens []int, n int) ([]byte, error) {
	for _, count := range tokens[:n] {
		numbers, err := r.segment(0, count)
		if err != nil {
			return nil, err
		}
		var counts [5]int
		runs := map[int]bool{} // which near bytes are those of runs of literals
		for _, number := range numbers {
			t := r.token(number)
			runs[counts[2]] = number == 254
			if number >= 254 || t.distance == "near" {
				counts[2]++
			} else if t.distance == "far" {
				counts[3]++
			}
			counts[1] += t.literals
		}
		counts[4] = counts[3]
		r.streams[0] = append(r.streams[0], numbers...)
		for _, i := range []int{2, 1, 3, 4} {
			symbols, err := r.segment(i, counts[i])
			if err != nil {
				return nil, err
			}
			for j, b := range symbols {
				if i == 2 && runs[j] {
					counts[1] += 16 * (int(b) + 1)
				}
			}
			r.streams[i] = append(r.streams[i], symbols...)
		}
		if counts[1] > 4096 || counts[2]+2*counts[3] > 4096 || r.overrun() {
			return nil, errBroken
		}
	}
	if n == len(tokens) {
		for i := 0; i < 4; i += 2 {
			if r.lanes[i].bytes()+r.lanes[i+1].bytes() != len(r.lanes[i].region) {
				return nil, errBroken
			}
		}
	}
	for _, number := range r.streams[0] {
		if err := r.append(number, n*4096); err != nil {
			return nil, err
		}
	}
	if len(r.text) != n*4096 {
		return nil, errBroken
	}
	return r.text[(n-1)*4096:], nil
}

// token returns what the table says of a token that is no run.
func (r *clusterReference) token(number byte) documented {
	if number >= 254 {
		return documented{}
	}
	return clusterDocument().tokens[number]
}

// take takes a symbol of a segment, which the counts have made sure is there.
func (r *clusterReference) take(i int) int {
	b := r.streams[i][0]
	r.streams[i] = r.streams[i][1:]
	return int(b)
}

// append does what a token says.
func (r *clusterReference) append(number byte, most int) error {
	t := r.token(number)
	distance, left := r.remembered[0], 0
	switch {
	case number == 254:
		t.literals = 16 * (r.take(2) + 1)
	case number == 255:
		t.length = 16 * (r.take(2) + 1)
	case t.distance == "near":
		b := r.take(2)
		distance, left = b+1, 3
		if b >= 64 {
			distance = 64 + 8*(b-63)
		}
	case t.distance == "far":
		distance, left = r.take(3), 3
		distance += 256 * r.take(4)
	default:
		left = strings.Index("last  secondthird fourth", t.distance) / 6
		distance = r.remembered[left]
	}
	for range t.literals {
		r.appendLiteral()
	}
	copy(r.remembered[1:left+1], r.remembered[:left])
	r.remembered[0] = distance
	for range t.length {
		if distance == 0 || distance > len(r.text) {
			return errBroken
		}
		r.text = append(r.text, r.text[len(r.text)-distance])
	}
	if len(r.text) > most {
		return errBroken
	}
	return nil
}

// appendLiteral appends a literal, or what it is the difference of.
func (r *clusterReference) appendLiteral() {
	b := byte(r.take(1))
	back := r.remembered[0]
	for back < 16 {
		back += r.remembered[0]
	}
	if from := len(r.text) - back; r.differences && from >= 0 {
		b += r.text[from]
	}
	r.text = append(r.text, b)
}

// The document's table is read whole.
func TestClusterDocumentIsWhole(t *testing.T) {
	for _, problem := range clusterDocument().problems {
		t.Error(problem)
	}
	for i, name := range segmentNames {
		for choice := range 8 {
			c := clusterBitCodes()[name+" "+strconv.Itoa(choice)]
			if (c != nil) != (choice < len(clusterCodes()[i])) {
				t.Errorf("%s %d: there is a code in the document or in the program alone", name, choice)
			}
		}
	}
}

// A clusterPair is an encoder and a decoder of one implementation.
type clusterPair struct {
	set impl.Set
	enc *ClusterEncoder
	dec *ClusterDecoder
}

func newClusterPair(tb testing.TB, set impl.Set) clusterPair {
	tb.Helper()
	enc, err := NewClusterEncoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	dec, err := NewClusterDecoder(set)
	if err != nil {
		tb.Fatal(err)
	}
	return clusterPair{set, enc, dec}
}

// eachClusterPair runs f as a subtest for each implementation that this machine can run.
func eachClusterPair(t *testing.T, f func(t *testing.T, p clusterPair)) {
	t.Helper()
	codectest.EachEntry(t, denseTable, func(t *testing.T, e impl.Entry[denseRoutines]) { f(t, newClusterPair(t, e.Set)) })
}

// object returns the object of a cluster, or nil if it has none.
func (p clusterPair) object(tb testing.TB, pages [ClusterPages][]byte) []byte {
	tb.Helper()
	dst := make([]byte, MaxClusterObject)
	n, err := p.enc.CompressCluster(dst, pages)
	if err != nil {
		tb.Fatal(err)
	}
	if n == 0 {
		return nil
	}
	return dst[:n:n]
}
