// SPDX-License-Identifier: Apache-2.0

package page

import "testing"

// F009 for clusters: a flipped bit may pass, the store's checksum is what sees it. All decoders say
// of it what the format says.
func TestF009ClusterBitFlipsAreJudgedAlike(t *testing.T) {
	judge, broken := clusterDecoders(t), 0
	for i, object := range clusterObjects(t, 4) {
		for bit := i; bit < len(object)*8; bit += 977 {
			object[bit/8] ^= 1 << (bit % 8)
			if judge(object) != every {
				broken++
			}
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	if broken == 0 {
		t.Error("no object was broken: the test proves nothing")
	}
}

// F010 for clusters: whatever page is asked for, a cut object is refused, for its header says
// how long it is; so is a longer one, but for a few zeros behind it.
func TestF010ClusterTruncationIsDetected(t *testing.T) {
	judge := clusterDecoders(t)
	for i, object := range clusterObjects(t, 8) {
		for n := i % 61; n < len(object); n += 61 {
			if judge(object[:n]) != [ClusterPages]bool{} {
				t.Fatalf("object %d cut from %d to %d bytes was read", i, len(object), n)
			}
		}
		if judge(append(object, 0, 0, 0, 0, 0, 0, 0)) != every {
			t.Fatalf("object %d with seven zeros more was refused", i)
		}
		if judge(append(object, 0, 0, 0, 0, 0, 0, 1)) != [ClusterPages]bool{} || judge(append(object, make([]byte, 8)...)) != [ClusterPages]bool{} {
			t.Fatalf("object %d with something else behind it was read", i)
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
