// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"testing"
)

// ranks are the document's words for kinds.
var ranks = map[string]uint8{"last": rep0, "second": rep1, "third": rep2, "fourth": rep3, "near": near, "far": far}

// The document has the tokens of the code, one for one.
func TestAlphabetIsDocumented(t *testing.T) {
	doc := document()
	for _, problem := range doc.problems {
		t.Errorf("%s: %s", documentPath, problem)
	}
	for number, d := range doc.tokens {
		want := token{literals: uint8(d.literals), length: uint8(d.length), kind: ranks[d.distance]}
		if number < literalRun && tokens[number] != want {
			t.Errorf("token %d is %+v, documented as %+v", number, tokens[number], want)
		}
	}
}

func TestAlphabetHas254Tokens(t *testing.T) {
	seen := map[token]int{}
	for number, token := range tokens[:literalRun] {
		if other, ok := seen[token]; ok {
			t.Errorf("tokens %d and %d are both %+v", other, number, token)
		}
		seen[token] = number
		if token.literals == 0 && token.length == 0 || token.literals > maxLiterals || token.length > maxLength {
			t.Errorf("token %d is %+v", number, token)
		}
		if token.length == 0 && token.kind != rep0 {
			t.Errorf("token %d is %+v: without a match, and moves a distance", number, token)
		}
	}
	count := 0
	for _, group := range alphabet {
		count += len(group.lengths)
	}
	if count != literalRun {
		t.Errorf("%d tokens, want %d", count, literalRun)
	}
	if tokens[literalRun] != (token{literals: runUnit}) || tokens[matchRun] != (token{length: runUnit}) {
		t.Error("the runs are not behind them")
	}
}

// Every byte is another near distance, and every distance has one byte or is far.
func TestNearDistances(t *testing.T) {
	seen := map[int]bool{}
	for b := range 256 {
		d := nearDistance(byte(b))
		if seen[d] || !isNear(d) || nearByte(d) != byte(b) {
			t.Errorf("byte %d is distance %d, whose byte is %d, or another's", b, d, nearByte(d))
		}
		seen[d] = true
	}
	for d := 1; d < Size; d++ {
		if isNear(d) != seen[d] {
			t.Errorf("distance %d: near is %v", d, isNear(d))
		}
	}
	if !seen[maxNear] || seen[maxNear+nearStep] {
		t.Errorf("%d is not the farthest near distance", maxNear)
	}
}

// Plans are there for every match that there can be, and for no other.
func TestPlansAreThere(t *testing.T) {
	for kind := range kinds {
		least := []int{2, 2, 2, 2, 3, 4}[kind]
		for literals := range planLiterals {
			for length := minLength; length < planLength+minLength; length++ {
				if p := plans[planAt(kind, literals, length)]; (p != 0) != (length >= least) {
					t.Errorf("kind %d, %d literals, length %d: plan %#x", kind, literals, length, p)
				}
			}
		}
	}
}

// writeMatch makes enc's object of a page that repeats what lies distance before it from start on:
// first some literals, then a match of length and the rest.
func writeMatch(enc *Encoder, object, page []byte, first, start, length, distance, kind int) int {
	enc.begin(page)
	enc.emitLiterals(first)
	enc.found = match{at: start, length: length, distance: distance, kind: kind}
	enc.emit()
	switch rest := Size - start - length; {
	case rest == 1:
		enc.emitLiterals(1)
	case rest > 1:
		enc.found = match{at: start + length, length: rest, distance: distance, kind: rep0}
		enc.emit()
	}
	return enc.assemble(object)
}

// Every plan, and every way to write what no plan is made for, comes back as what it was made for.
func TestEveryPlanDecodes(t *testing.T) {
	const first = 70                             // enough literals for every distance
	distances := [kinds]int{1, 8, 4, 16, 24, 67} // the first four are those remembered at the start
	lengths := []int{500, 1000, 2000, 3000, 3900}
	for length := 2; length < 2*planLength; length++ {
		lengths = append(lengths, length)
	}
	page, object := make([]byte, Size), make([]byte, Size)
	rng := newRand(7)
	var enc Encoder
	for kind, distance := range distances {
		for literals := range 50 {
			start := first + literals
			for i := range page {
				if page[i] = byte(rng.Uint32()); i >= start {
					page[i] = page[i-distance]
				}
			}
			for _, length := range lengths {
				if plans[planAt(kind, 0, min(length, planLength))] == 0 || start+length > Size {
					continue
				}
				n := writeMatch(&enc, object, page, first, start, length, distance, kind)
				if back, err := referenceDecode(object[:n]); err != nil || !bytes.Equal(back, page) {
					t.Fatalf("kind %d, %d literals, length %d: %v, or another page", kind, literals, length, err)
				}
			}
		}
	}
}
