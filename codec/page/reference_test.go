// SPDX-License-Identifier: Apache-2.0

package page

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The reference is written from docs/page-format.md, and takes its table from there. It shares
// nothing with the code that it judges.

const documentPath = "../../docs/page-format.md"

// A documented token is a row's number of literals and distance with one of its lengths.
type documented struct {
	distance         string
	literals, length int
}

// A tableReader collects the tokens of the document's table; whatever is not as it must be ends up
// in problems.
type tableReader struct {
	tokens   []documented
	problems []string
}

// row takes one line of the document, which may be a row of the table.
func (r *tableReader) row(line string) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(cells) != 4 {
		return
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	switch cells[1] {
	case "last", "second", "third", "fourth", "near", "far":
	default:
		return
	}
	first, last, found := strings.Cut(cells[0], "-")
	if !found {
		last = first
	}
	if first != strconv.Itoa(len(r.tokens)) {
		r.problems = append(r.problems, "a row begins elsewhere: "+line)
	}
	literals, err := strconv.Atoi(cells[2])
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	for text := range strings.FieldsSeq(cells[3]) {
		length, err := strconv.Atoi(text)
		if err != nil {
			r.problems = append(r.problems, err.Error())
		}
		r.tokens = append(r.tokens, documented{cells[1], literals, length})
	}
	if last != strconv.Itoa(len(r.tokens)-1) {
		r.problems = append(r.problems, "a row ends elsewhere: "+line)
	}
}

// document reads the table once.
var document = sync.OnceValue(func() tableReader { return tableIn(documentPath) })

// tableIn reads a document's table.
func tableIn(path string) (r tableReader) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tableReader{problems: []string{err.Error()}}
	}
	for line := range strings.Lines(string(text)) {
		r.row(line)
	}
	if len(r.tokens) != 254 {
		r.problems = append(r.problems, strconv.Itoa(len(r.tokens))+" tokens")
	}
	return r
}

// errBroken is all that the reference has to say of an object that stands for no page.
var errBroken = errors.New("broken")

// A reference is an object on its way to a page.
type reference struct {
	size                      int
	page, literals, distances []byte
	remembered                []int
}

// referenceDecode returns the page of an object.
func referenceDecode(object []byte) ([]byte, error) {
	if len(object) < 3 || len(object) > 4095 {
		return nil, errBroken
	}
	counts := int(object[0]) + 256*int(object[1]) + 65536*int(object[2])
	l, t := counts%4096, counts/4096
	if 3+l+t > len(object) {
		return nil, errBroken
	}
	r := reference{size: 4096, literals: object[3 : 3+l], distances: object[3+l : len(object)-t], remembered: []int{1, 8, 4, 16}}
	for _, number := range object[len(object)-t:] {
		if err := r.token(int(number)); err != nil {
			return nil, err
		}
	}
	if len(r.page) != 4096 || len(r.literals) > 0 || len(r.distances) > 0 {
		return nil, errBroken
	}
	return r.page, nil
}

// token does what one token says.
func (r *reference) token(number int) error {
	if number >= 254 {
		return r.run(number)
	}
	t := document().tokens[number]
	distance, more, left := 0, 0, 3
	switch t.distance {
	case "near":
		b, err := r.near()
		if err != nil {
			return err
		}
		distance = b + 1
		if b >= 64 {
			distance = 64 + 8*(b-63)
		}
	case "far":
		if len(r.distances) < 2 {
			return errBroken
		}
		w := r.distances[len(r.distances)-2:]
		r.distances = r.distances[:len(r.distances)-2]
		distance, more = int(w[0])+256*int(w[1]%16), int(w[1]/16)
	default:
		left = strings.Index("last  secondthird fourth", t.distance) / 6
		distance = r.remembered[left]
	}
	if err := r.append(t.literals, t.length+more, distance); err != nil {
		return err
	}
	copy(r.remembered[1:left+1], r.remembered[:left])
	r.remembered[0] = distance
	return nil
}

// run does a run's token.
func (r *reference) run(number int) error {
	b, err := r.near()
	if err != nil {
		return err
	}
	if number == 254 {
		return r.append(16*(b+1), 0, 0)
	}
	return r.append(0, 16*(b+1), r.remembered[0])
}

// near takes a near byte.
func (r *reference) near() (int, error) {
	if len(r.distances) == 0 {
		return 0, errBroken
	}
	b := r.distances[0]
	r.distances = r.distances[1:]
	return int(b), nil
}

// append writes literals and a match behind them to the page.
func (r *reference) append(literals, length, distance int) error {
	if literals > len(r.literals) {
		return errBroken
	}
	r.page = append(r.page, r.literals[:literals]...)
	r.literals = r.literals[literals:]
	if len(r.page)+length > r.size || length > 0 && (distance == 0 || distance > len(r.page)) {
		return errBroken
	}
	for range length {
		r.page = append(r.page, r.page[len(r.page)-distance])
	}
	return nil
}

// judge fails the test unless all decoders say of an object what the reference does, with the same
// page. It reports whether the object is valid.
func judge(t *testing.T, object []byte) bool {
	t.Helper()
	want, broken := referenceDecode(object)
	return judgeBy(t, decoders(), object, want, broken)
}

// A maker draws an object's tokens, mostly such as are valid where they stand.
type maker struct {
	rng                           *rand.Rand
	literals, nears, fars, tokens []byte
	at                            int
	remembered                    []int
}

// madeObject returns an object with everything that the format allows, which our encoder seldom
// makes, and sometimes with something that it does not.
func madeObject(seed uint64) []byte {
	m := maker{rng: rand.New(rand.NewPCG(seed, 4)), remembered: []int{1, 8, 4, 16}}
	last := Size - m.rng.IntN(100)
	for m.at < last {
		m.token(m.rng.IntN(256))
	}
	for m.at < Size {
		m.token([]int{0, 8}[m.rng.IntN(2)]) // one byte of a match, or a literal
	}
	counts := len(m.literals) | len(m.tokens)<<12
	if m.rng.IntN(8) == 0 {
		counts += []int{1, -1, 1 << 12, -1 << 12, 1<<12 - 1, 1<<11 + 1<<23}[m.rng.IntN(6)]
	}
	object := append([]byte{byte(counts), byte(counts >> 8), byte(counts >> 16)}, m.literals...)
	object = append(append(object, m.nears...), m.fars...)
	object = append(object, m.tokens...)
	for range m.rng.IntN(20) / 16 {
		object[m.rng.IntN(len(object))] = byte(m.rng.Uint32())
	}
	return object
}

// token adds a token by number, if it is valid or, seldom, even so.
func (m *maker) token(number int) {
	reckless := m.rng.IntN(5000) == 0
	if number >= 254 {
		m.run(number, reckless)
		return
	}
	t := document().tokens[number]
	at := m.at + t.literals
	room := Size - at - t.length
	if (at == 0 && t.length > 0 || room < 0) && !reckless {
		return
	}
	switch t.distance {
	case "near":
		b := m.rng.IntN(256)
		if at < 1700 || m.rng.IntN(2) == 0 {
			b = m.rng.IntN(min(max(at, 1), 64))
		}
		m.nears = append(m.nears, byte(b))
		m.remember(3, nearDistance(byte(b)))
	case "far":
		w := m.rng.IntN(min(max(room+1, 1), 16))<<12 | (1+m.rng.IntN(max(at, 1)))&0xfff
		m.fars = append([]byte{byte(w), byte(w >> 8)}, m.fars...)
		m.remember(3, w&0xfff)
		m.at += w >> 12
	default:
		rank := strings.Index("last  secondthird fourth", t.distance) / 6
		if t.length > 0 && m.remembered[rank] > at && !reckless {
			return
		}
		m.remember(rank, m.remembered[rank])
	}
	m.add(number, t.literals, t.length)
}

// run adds one of the two runs, if it is valid or even so.
func (m *maker) run(number int, reckless bool) {
	b := m.rng.IntN([]int{2, 4, 8, 256}[m.rng.IntN(4)])
	n := 16 * (b + 1)
	if m.at+n <= Size && (number == 254 || m.remembered[0] <= m.at) || reckless {
		m.nears = append(m.nears, byte(b))
		m.add(number, n*(255-number), n*(number-254))
	}
}

// remember moves a distance to the first place, out of that of some rank.
func (m *maker) remember(rank, distance int) {
	copy(m.remembered[1:rank+1], m.remembered[:rank])
	m.remembered[0] = distance
}

// add adds a token that has been found fit.
func (m *maker) add(number, literals, length int) {
	m.tokens = append(m.tokens, byte(number))
	for range literals {
		m.literals = append(m.literals, byte(m.rng.Uint32()))
	}
	m.at += literals + length
}
