// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/internal/image"
)

// A cluster is sparse as soon as a quarter of its pages have left.
func TestSparseFromAQuarterOn(t *testing.T) {
	s := mustCreate(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page")})
	defer finish(t, s)
	for page := range uint64(image.ClusterPages) {
		write(t, s, page, texts(1)[0])
	}
	if did := join(t, s); did.Pages != image.ClusterPages {
		t.Fatalf("%+v", did)
	}
	for left := range uint64(3) {
		want := uint8(0)
		if left == image.ClusterPages/4 {
			want = uint8(math.MaxUint8) << left
		}
		if got := s.sparseAt(0); got != want {
			t.Errorf("after %d pages have left: %08b, want %08b", left, got, want)
		}
		w := s.Acquire()
		w.Discard(left, 1)
		w.Release()
	}
}

// A store without memory loosens clusters before writes fail, however few pages have left them.
func TestFullStoreIsLoosened(t *testing.T) {
	s, data := alikes(t, 16<<20, 16)
	const groups = (leastLeft - 1) / (image.ClusterPages - 1)
	w := s.Acquire()
	defer w.Release()
	for page := range groups * image.ClusterPages {
		if page%image.ClusterPages != 0 {
			w.Discard(uint64(page), 1)
			data[page] = make([]byte, PageSize)
		}
	}
	time.Sleep(4 * settleEvery)
	sparse := func() (n int) {
		s.passMu.Lock() // nothing moves
		defer s.passMu.Unlock()
		for first := range uint64(groups) {
			n += bits.OnesCount8(s.sparseAt(first * image.ClusterPages))
		}
		return n
	}
	if n := sparse(); n < groups/2 {
		t.Fatalf("%d clusters of one page among %d", n, groups)
	}
	s.SetMemLimit(s.Stats().MemUsedTotal)
	rng := rand.New(rand.NewPCG(5, 6))
	for page := uint64(1); sparse() > 0; page++ {
		if page%image.ClusterPages == 0 {
			continue
		}
		if page >= groups*image.ClusterPages {
			t.Fatalf("%d clusters of one page are left", sparse())
		}
		p := noise(rng, PageSize)
		if err := w.Write(page, 0, p); err == nil {
			data[page] = p
		} else if !errors.Is(err, ErrFull) || sparse() > 0 {
			t.Fatalf("with %d clusters of one page a write fails: %v", sparse(), err)
		}
	}
	unchanged(t, s, data)
}

// The maintainer gives pages of clusters that many have left objects of their own, so that little
// memory is lost.
func TestClustersAreLoosened(t *testing.T) {
	s, data := alikes(t, 16<<20, 64)
	pages, clusters := inClusters(s)
	if pages < len(data)/2 {
		t.Fatalf("only %d pages in %d clusters", pages, clusters)
	}
	resume := s.unmaintained() // a walk that began before may leave some for the next
	w := s.Acquire()
	for page := range data {
		if page%image.ClusterPages != 0 {
			w.Discard(uint64(page), 1)
			data[page] = make([]byte, PageSize)
		}
	}
	w.Release()
	resume()
	s.poke()
	for end := time.Now().Add(time.Minute); pages > 0; pages, _ = inClusters(s) {
		if time.Now().After(end) {
			t.Fatalf("%d pages are still in clusters of one", pages)
		}
		time.Sleep(10 * time.Millisecond)
	}
	unchanged(t, s, data)
}

// The walk passes by what does not exist between two clusters of a large device, and leaves alone
// those that few pages have left.
func TestClustersFarApartAreLoosened(t *testing.T) {
	s := newStore(t, Config{Disksize: steppedDisk, MaxMemory: 1 << 28, Algorithm: algorithm(t, "page")})
	far := s.Pages() - image.ClusterPages
	firsts := []uint64{0, image.ClusterPages, far / 2 &^ (image.ClusterPages - 1), far}
	for _, first := range firsts {
		for page := range uint64(image.ClusterPages) {
			write(t, s, first+page, texts(1)[0])
		}
	}
	if did := join(t, s); did.Pages != uint64(len(firsts)*image.ClusterPages) {
		t.Fatalf("%+v", did)
	}
	for _, first := range firsts {
		if first != image.ClusterPages {
			discard(s, first+1, image.ClusterPages-2)
		}
	}
	defer s.unmaintained()()
	s.clusters.pass = unclustering{}
	again := s.unclusterSome(true)
	for n := 0; again == compactEvery; n++ {
		if again = s.unclusterSome(true); n > int(s.Pages()/unclusterPages) {
			t.Fatal("the walk does not end")
		}
	}
	// Each page that is taken out leaves another behind.
	if pages, _ := inClusters(s); again != 0 || pages != image.ClusterPages || s.clusters.left.Load() != int64(len(firsts)-1) {
		t.Errorf("it looks again after %v, with %d pages in clusters, %d left behind", again, pages, s.clusters.left.Load())
	}
	for _, first := range firsts {
		for _, page := range []uint64{first, first + image.ClusterPages - 1} {
			if !bytes.Equal(read(t, s, page), texts(1)[0]) {
				t.Errorf("page %d is not what it was", page)
			}
		}
	}
}
