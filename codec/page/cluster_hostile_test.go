// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// F009 for clusters: a flipped bit may pass, the store's checksum is what sees it. All decoders say
// of it what the format says.
func TestF009ClusterBitFlipsAreJudgedAlike(t *testing.T) {
	judge, broken := clusterDecoders(t), 0
	for i, object := range clusterObjects(t, 4) {
		for bit := i; bit < len(object)*8; bit += 77 {
			object[bit/8] ^= 1 << (bit % 8)
			if judge(object) != [ClusterPages]bool{true, true, true, true} {
				broken++
			}
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	if broken == 0 {
		t.Error("no object was broken: the test proves nothing")
	}
}

// F010 for clusters: whatever page is asked for, a cut object is refused, for its parts' lengths
// say how long it is; so is a longer one.
func TestF010ClusterTruncationIsDetected(t *testing.T) {
	judge := clusterDecoders(t)
	for i, object := range clusterObjects(t, 8) {
		for n := i % 11; n < len(object); n += 11 {
			if judge(object[:n]) != [ClusterPages]bool{} {
				t.Fatalf("object %d cut from %d to %d bytes was read", i, len(object), n)
			}
		}
		if judge(append(object, 0)) != [ClusterPages]bool{} {
			t.Fatalf("object %d with a byte more was read", i)
		}
	}
}

// Objects with everything that the format allows, which our encoder seldom makes, and with one
// thing that it does not.
func TestMadeClusterObjectsAreJudgedAlike(t *testing.T) {
	judge := clusterDecoders(t)
	var valid, broken [ClusterPages]int
	for i := range 300 {
		for index, ok := range judge(madeClusterObject(uint64(i))) {
			if ok {
				valid[index]++
			} else {
				broken[index]++
			}
		}
	}
	for index := range valid {
		if valid[index] == 0 || broken[index] == 0 {
			t.Errorf("page %d: %d valid objects and %d broken: the test proves nothing", index, valid[index], broken[index])
		}
	}
}

// A part that stands for more than its page: pages from there on are read if the parts up to them
// make up for it. So says the format, and so do all decoders.
func TestPartsOfOtherSizesAreJudgedAlike(t *testing.T) {
	judge := clusterDecoders(t)
	seen := map[[ClusterPages]bool]int{}
	for i := range 200 {
		// Whole pages of one byte, moved from part to part by runs: a run of n units is token 254
		// or 255 and the near byte n-1.
		units := []int{256, 256, 256, 256}
		from, to := i%4, i/4%4
		units[from] -= i % 9
		units[to] += i % 9
		object := make([]byte, 6)
		for j, n := range units {
			part := runsObject(j == 0, n)
			object = append(object, part...)
			counts := len(part) << (12 * (j % 2))
			for k := range 3 {
				object[3*(j/2)+k] |= byte(counts >> (8 * k))
			}
		}
		seen[judge(object)]++
	}
	if seen[[ClusterPages]bool{true, true, true, true}] == 0 || seen[[ClusterPages]bool{false, true, true, true}] == 0 || seen[[ClusterPages]bool{true, true, false, true}] == 0 {
		t.Errorf("%v: the test proves nothing", seen)
	}
}

// runsObject returns a dense object that stands for that number of units of zeros, the first of
// them literals.
func runsObject(literals bool, units int) []byte {
	var p densePacker
	s := new(search)
	if literals {
		s.emitToken(literalRun)
		s.emitNear(0)
		s.literals = runUnit
		units--
	}
	for ; units > 0; units -= min(units, 256) {
		s.emitToken(matchRun)
		s.emitNear(byte(min(units, 256) - 1))
	}
	object := make([]byte, MaxObject)
	return object[:p.pack(object, s, writeGeneric)]
}

// FuzzClusterDecode gives any bytes to all decoders and to the one written from the document.
func FuzzClusterDecode(f *testing.F) {
	for i := range 10 {
		f.Add(madeClusterObject(uint64(i)))
	}
	for _, object := range clusterObjects(f, 5) {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object []byte) { clusterDecoders(t)(object) })
}

const clusterGoldenPath = "testdata/golden-cluster.txt"

// Objects that were stored stay readable for ever, as the pages that they were. An object in the
// file never changes.
func TestGoldenClusterObjectsStayReadable(t *testing.T) {
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		all := goldensIn(t, clusterGoldenPath)
		if len(all) < 4 {
			t.Fatalf("%s holds %d objects", clusterGoldenPath, len(all))
		}
		for _, g := range all {
			text, back := make([]byte, ClusterPages*Size), make([]byte, Size)
			var four [ClusterPages][]byte
			for i := range four {
				four[i] = text[i*Size : (i+1)*Size]
				if err := p.dec.DecompressCluster(four[i], i, g.object); err != nil {
					t.Fatalf("%s, page %d: %v", g.name, i, err)
				}
			}
			if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != g.sum {
				t.Fatalf("%s: came back different", g.name)
			}
			object := p.object(t, four)
			for i := range four {
				if err := p.dec.DecompressCluster(back, i, object); err != nil || !bytes.Equal(back, four[i]) {
					t.Errorf("%s, page %d does not come back today: %v", g.name, i, err)
				}
			}
		}
	})
}
