// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

const clusterGoldenPath = "testdata/golden-cluster.txt"

// Objects that were stored stay readable for ever, as the pages that they were. An object in
// the file never changes. The encoder of today may make another object of the pages.
func TestGoldenClusterObjectsStayReadable(t *testing.T) {
	eachClusterPair(t, func(t *testing.T, p clusterPair) {
		all := goldensIn(t, clusterGoldenPath)
		if len(all) < 8 {
			t.Fatalf("%s holds %d objects", clusterGoldenPath, len(all))
		}
		for _, g := range all {
			group := goldenCluster(t, p, g)
			back, object := make([]byte, Size), p.object(t, group)
			for i := range group {
				if object == nil || group[i] == nil {
					continue
				}
				if err := p.dec.DecompressCluster(back, i, object); err != nil || !bytes.Equal(back, group[i]) {
					t.Errorf("%s, page %d does not come back today: %v", g.name, i, err)
				}
			}
		}
	})
}

// goldenCluster reads all pages of a golden object and compares them with their sum.
func goldenCluster(t *testing.T, p clusterPair, g golden) (group [ClusterPages][]byte) {
	t.Helper()
	var text []byte
	for i := range group {
		if g.object[0]>>i&1 == 0 {
			continue
		}
		group[i] = make([]byte, Size)
		if err := p.dec.DecompressCluster(group[i], i, g.object); err != nil {
			t.Fatalf("%s, page %d: %v", g.name, i, err)
		}
		text = append(text, group[i]...)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != g.sum {
		t.Fatalf("%s: came back different", g.name)
	}
	return group
}

// They have every code, own codes, literals of both kinds and absent pages, so that none of
// these can come to mean something else.
func TestGoldenClusterObjectsHaveEveryCode(t *testing.T) {
	var seen [segments][ownChoice + 1]bool
	var differences [2]bool
	absent := false
	for _, g := range goldensIn(t, clusterGoldenPath) {
		var h clusterHead
		if !h.get(g.object) {
			t.Fatalf("%s has no header", g.name)
		}
		for i, choice := range h.choices {
			seen[i][choice] = true
		}
		differences[g.object[2]>>7] = true
		absent = absent || h.pages() < ClusterPages
	}
	for i := range seen {
		for choice := range seen[i] {
			if want := choice < len(clusterCodes()[i]) || choice == ownChoice; seen[i][choice] != want {
				t.Errorf("%s %d: %v", segmentNames[i], choice, seen[i][choice])
			}
		}
	}
	if differences != [2]bool{true, true} || !absent {
		t.Error("there are no literals of one kind, or no absent pages")
	}
}
