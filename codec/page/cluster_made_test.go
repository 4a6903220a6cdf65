// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// every is which pages of a cluster are valid where all are.
var every = [ClusterPages]bool{true, true, true, true, true, true, true, true}

// clusterAt returns eight pages of base from a number on.
func clusterAt(base [][]byte, at int) (pages [ClusterPages][]byte) {
	for i := range pages {
		pages[i] = base[(at+i)%len(base)]
	}
	return pages
}

// without leaves out some pages: others for every seed, but never all.
func without(pages [ClusterPages][]byte, seed int) [ClusterPages][]byte {
	rng := newRand(uint64(seed))
	present := 1 + rng.IntN(255)
	for i := range pages {
		if present>>i&1 == 0 {
			pages[i] = nil
		}
	}
	return pages
}

// present reports which pages are there.
func present(pages [ClusterPages][]byte) (there [ClusterPages]bool) {
	for i, page := range pages {
		there[i] = page != nil
	}
	return there
}

// clusterObjects returns objects of generated pages.
func clusterObjects(tb testing.TB, count int) (all [][]byte) {
	tb.Helper()
	p := newClusterPair(tb, impl.Generic)
	base := codectest.Generated()
	for at := 0; at < len(base) && len(all) < count; at++ {
		if object := p.object(tb, clusterAt(base, at)); object != nil {
			all = append(all, object)
		}
	}
	if len(all) < count {
		tb.Fatalf("there are %d objects, not %d", len(all), count)
	}
	return all
}

// madeClusterObject returns an object with what the format allows and our encoder seldom
// makes: tokens drawn at random that fill each page, in codes drawn at random, and sometimes
// something that the format does not allow.
func madeClusterObject(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 6))
	var s clusterStreams
	var p clusterPacker
	there := uint8(1 + rng.IntN(255))
	head := clusterHead{present: there}
	reps := uint64(firstReps)
	for page := range head.pages() {
		reps = madeClusterPage(&s, rng, page, reps)
	}
	var counts histogram
	s.count(&counts)
	for i := range segments {
		p.choose(i, &counts[i])
		if choice := rng.IntN(len(clusterCodes()[i]) + 3); choice < len(clusterCodes()[i]) {
			p.choices[i], p.lengths[i] = choice, 0
		} else if sum(&counts[i]) > 0 {
			p.maker.make(&p.owns[i], &counts[i])
			p.choices[i], p.lengths[i] = ownChoice, len(p.owns[i].appendSymbols(p.lists[i][:0]))
		}
	}
	object := make([]byte, MaxClusterObject)
	object = object[:p.pack(object, &s, there, rng.IntN(4) > 0)]
	if len(object) > 0 && rng.IntN(4) == 0 {
		object[rng.IntN(min(len(object), 40))] ^= 1 << rng.IntN(8)
	}
	return append(object, make([]byte, rng.IntN(7))...)
}

// madeClusterPage adds tokens that fill a page, or nearly.
func madeClusterPage(s *clusterStreams, rng *rand.Rand, page int, reps uint64) uint64 {
	text := page * Size
	end := text + Size
	if rng.IntN(60) == 0 {
		end--
	}
	for text < end {
		number := byte(rng.IntN(256))
		if rng.IntN(3) == 0 {
			number = literalTokens[1+rng.IntN(maxLiterals)]
		}
		t := clusterTokens[number]
		literals, length, units := int(t.literals), int(t.length), 0
		if number >= literalRun {
			units = 1 + rng.IntN(min(256, 1+rng.IntN(40)))
			literals, length = literals*units, length*units
		}
		distance := int(reps >> (16 * min(t.kind, rep3)) & 0xffff)
		if t.kind == near {
			distance = nearDistance(byte(rng.IntN(256)))
		} else if t.kind == far {
			distance = rng.IntN(text + 1)
		}
		if text+literals+length > end || length > 0 && (distance == 0 || distance > text+literals) && rng.IntN(20_000) > 0 {
			continue
		}
		text += literals + length
		reps = remember(reps, t.kind, distance)
		for range literals {
			s.literals[s.end.literals] = byte(rng.Uint32() >> (rng.Uint32() % 9))
			s.end.literals++
		}
		s.emitToken(&clusterStep{token: number, kind: t.kind, distance: uint16(distance), near: uint8(units - 1)})
		if number == literalRun {
			s.addNear(byte(units - 1))
		}
	}
	s.pages[page] = s.end
	return reps
}

// clusterDecoders makes a judge of what all decoders say. The function that it returns fails
// the test unless they say of each page of an object what the reference does, and reports
// which of its pages are valid.
func clusterDecoders(t *testing.T) (judge func(object []byte) (valid [ClusterPages]bool)) {
	t.Helper()
	all := map[impl.Set]*ClusterDecoder{}
	for _, e := range denseTable {
		if impl.Has(e.Set) {
			all[e.Set] = newClusterPair(t, e.Set).dec
		}
	}
	got := make([]byte, Size)
	return func(object []byte) (valid [ClusterPages]bool) {
		t.Helper()
		for index := range valid {
			want, broken := clusterReferenceDecode(object, index)
			valid[index] = broken == nil
			for set, dec := range all {
				err := dec.DecompressCluster(got, index, object)
				if (err != nil) != (broken != nil) {
					t.Fatalf("%s, page %d: %v, the reference: %v: object %x", set, index, err, broken, object)
				}
				if err != nil && !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: refused by another error: %v", set, err)
				}
				if err == nil && !bytes.Equal(got, want) {
					t.Fatalf("%s, page %d: another page than the reference's: object %x", set, index, object)
				}
			}
		}
		return valid
	}
}
