// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
)

// clusterer joins pages of s whatever their age.
func clusterer(t *testing.T, s *Store) *Clusterer {
	t.Helper()
	return s.NewClusterer(algorithm(t, "page:dense"), func(Recompressed) {})
}

// joinAll joins all pages that gain by it.
func joinAll(s *Store) error { return joinSome(s, math.MaxInt) }

// joinSome joins pages in a number of clusters at the most: each takes some milliseconds, and with
// the race detector a tenth of a second.
func joinSome(s *Store, clusters int) error {
	a, err := codec.Parse("page:dense")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := s.NewClusterer(a, func(Recompressed) {
		if clusters--; clusters <= 0 {
			cancel()
		}
	})
	if _, err = c.Run(ctx, 0); errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func join(t *testing.T, s *Store) Recompressed {
	t.Helper()
	did, err := clusterer(t, s).Run(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// inClusters is how many pages share their objects, and how many objects these are.
func inClusters(s *Store) (pages, objects int) {
	for page := range s.Pages() {
		if e := s.idx.load(page); e.Clustered() {
			pages++
			if s.firstOf(page, e) {
				objects++
			}
		}
	}
	return pages, objects
}

// viewedAs demands that a view shows the pages of a store that is at rest, in windows of any size.
func viewedAs(t *testing.T, s *Store, data [][]byte) {
	t.Helper()
	v, _ := stillView(t, s)
	for _, size := range []int{1, 3, 1024} {
		for page, p := range viewed(t, v, size) {
			if !bytes.Equal(p, data[page]) {
				t.Fatalf("in windows of %d pages page %d is not what it was", size, page)
			}
		}
	}
}

// Pages that are joined take less memory and are what they were, also to another process, and after
// the store is opened again.
func TestClusters(t *testing.T) {
	mem, cfg := newMemory(t), Config{Disksize: 4 << 20, Algorithm: algorithm(t, "page:dense")}
	s, err := Create(mem, cfg)
	if err != nil {
		t.Fatal(err)
	}
	newCalendar(s)
	data := texts(int(s.Pages()))
	for page, p := range data {
		write(t, s, uint64(page), p)
	}
	before := s.Stats()
	did := join(t, s)
	after := s.Stats()
	pages, objects := inClusters(s)
	if did.Pages < s.Pages()/3 || uint64(pages) != did.Pages || did.Changed != 0 || objects > pages/leastMembers {
		t.Fatalf("%+v, %d pages in %d clusters", did, pages, objects)
	}
	if after.Codecs[codec.PageDenseCluster].Pages != did.Pages || before.OrigDataSize != after.OrigDataSize || before.ComprDataSize-after.ComprDataSize != did.SavedBytes || before.Writes != after.Writes || after.RecompressedSince != did.Pages {
		t.Errorf("%+v: the statistics were\n%+v\nand are\n%+v", did, before, after)
	}
	if again := join(t, s); again.Tried != 0 {
		t.Errorf("pages are tried again: %+v", again)
	}
	unchanged(t, s, data)
	viewedAs(t, s, data)
	if did := recompress(t, s, RecompressConfig{}); did.Pages != 0 && func() bool { n, _ := inClusters(s); return n != pages }() {
		t.Errorf("recompression took pages out of clusters: %+v", did)
	}
	finish(t, s)
	if s, err = Open(mem, cfg); err != nil {
		t.Fatal(err)
	}
	defer finish(t, s)
	if opened := s.Stats(); opened.Codecs[codec.PageDenseCluster] != after.Codecs[codec.PageDenseCluster] {
		t.Errorf("opened again, %+v are in clusters, %+v were", opened.Codecs[codec.PageDenseCluster], after.Codecs[codec.PageDenseCluster])
	}
	unchanged(t, s, data)
	for page := range data {
		data[page] = make([]byte, PageSize)
	}
	w := s.Acquire()
	w.Discard(0, s.Pages())
	w.Release()
	if st := s.Stats(); st.ComprDataSize != 0 || st.OrigDataSize != 0 || s.footprint() != 0 {
		t.Errorf("with nothing stored the statistics are %+v", st)
	}
	unchanged(t, s, data)
}

// A cluster stays while pages leave it one by one, and its memory is free after the last.
func TestClusterIsLeft(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page")})
	data := texts(int(s.Pages()))
	for page := range data {
		data[page] = bytes.Repeat(data[0][:64], PageSize/64)
		copy(data[page], data[page%5][:200])
		write(t, s, uint64(page), data[page])
	}
	if did := join(t, s); did.Pages != s.Pages() {
		t.Fatalf("%+v", did)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n, page := range rng.Perm(len(data)) {
		switch n % 3 {
		case 0:
			write(t, s, uint64(page), data[n])
			data[page] = data[n]
		case 1:
			w := s.Acquire()
			w.Discard(uint64(page), 1)
			w.Release()
			data[page] = make([]byte, PageSize)
		default:
			part := data[n][:100]
			w := s.Acquire()
			if err := w.Write(uint64(page), 1000, part); err != nil {
				t.Error(err)
			}
			w.Release()
			data[page] = bytes.Clone(data[page])
			copy(data[page][1000:], part)
		}
		if n%16 == 0 {
			holds(t, s)
			unchanged(t, s, data)
		}
	}
	if pages, _ := inClusters(s); pages != 0 || s.Stats().Codecs[codec.PageDenseCluster] != (CodecStats{}) {
		t.Errorf("%d pages are still in clusters: %+v", pages, s.Stats().Codecs[codec.PageDenseCluster])
	}
}

// alikes is a store full of pages in clusters, as many alike one after another, and those pages.
func alikes(t *testing.T, size uint64, alike int) (*Store, [][]byte) {
	t.Helper()
	s := newStore(t, Config{Disksize: size, Algorithm: algorithm(t, "page")})
	data, sample := make([][]byte, s.Pages()), texts(1024)
	for page := range data {
		data[page] = sample[page/alike%len(sample)]
		write(t, s, uint64(page), data[page])
	}
	join(t, s)
	return s, data
}

// Compaction moves clusters for all pages that share them.
func TestClustersMove(t *testing.T) {
	s, data := alikes(t, 8<<20, 16)
	for page := range data { // half of the clusters are gone, and one page of each other
		if page/image.ClusterPages%2 == 0 || page%image.ClusterPages == 1 {
			w := s.Acquire()
			w.Discard(uint64(page), 1)
			w.Release()
			data[page] = make([]byte, PageSize)
		}
	}
	before := s.Stats().PagesCompacted
	pages, clusters := inClusters(s)
	s.CompactNow(nil)
	if still, kept := inClusters(s); s.Stats().PagesCompacted == before || still > pages || kept > clusters || kept < 50 {
		t.Errorf("%d pages are in %d clusters, %d in %d were; %d pages were compacted", still, kept, pages, clusters, s.Stats().PagesCompacted-before)
	}
	holds(t, s)
	unchanged(t, s, data)
	viewedAs(t, s, data)
}

// Pages of clusters are written back as others are.
func TestClustersAreWrittenBack(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 20, Algorithm: algorithm(t, "page"), Backing: newBacking(t, 2048)})
	data := texts(int(s.Pages()))
	for page, p := range data {
		write(t, s, uint64(page), p)
	}
	join(t, s)
	if pages, _ := inClusters(s); pages < 100 {
		t.Fatalf("only %d pages are in clusters", pages)
	}
	if _, err := s.WriteBack(everything); err != nil {
		t.Fatal(err)
	}
	if pages, _ := inClusters(s); pages != 0 || s.Stats().WrittenBack < s.Pages()*9/10 {
		t.Errorf("%d pages are left in clusters, %d are written back of %d", pages, s.Stats().WrittenBack, s.Pages())
	}
	unchanged(t, s, data)
}

// A write-back takes the memory that pages of clusters need for objects of their own where the
// maintainer is behind, and leaves none of them out.
func TestClustersAreWrittenBackAlone(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 20, Algorithm: algorithm(t, "page"), Backing: newBacking(t, 2048)})
	data := texts(int(s.Pages()))
	for page, p := range data {
		write(t, s, uint64(page), p)
	}
	join(t, s)
	pages, _ := inClusters(s)
	defer s.unmaintained()()
	for s.reserve() > 2 {
		if !s.cedeSegment(0) {
			t.Fatal("a segment cannot be given back")
		}
	}
	did := mustWriteBack(t, s, everything)
	if left, _ := inClusters(s); left != 0 || did.Pages < uint64(pages) {
		t.Errorf("%d of %d pages are left in clusters: %+v", left, pages, did)
	}
	unchanged(t, s, data)
}

// An algorithm without clusters makes none.
func TestNoClusterAlgorithm(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	c := s.NewClusterer(algorithm(t, "lz4"), func(Recompressed) {})
	for page := range uint64(image.ClusterPages) {
		write(t, s, page, texts(1)[0])
	}
	if _, err := c.Run(context.Background(), 0); !errors.Is(err, codec.ErrNoCluster) {
		t.Errorf("error %v", err)
	}
}

// Damage to a cluster is found under each page that shares it, and does no further harm.
func TestDamagedCluster(t *testing.T) {
	s := mustCreate(t, Config{Disksize: 1 << 20, Algorithm: algorithm(t, "page")})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	data := bytes.Repeat(texts(1)[0][:64], PageSize/64)
	for page := range s.Pages() {
		write(t, s, page, data)
	}
	join(t, s)
	e := s.idx.load(0)
	s.image.Payload(e.Where(), e.Length())[e.Length()/2] ^= 4
	w := s.Acquire()
	defer w.Release()
	p := make([]byte, PageSize)
	for page := range s.Pages() {
		err := w.Read(page, 0, p)
		if damaged := page < image.ClusterPages; damaged != errors.Is(err, ErrCorrupt) || !damaged && !bytes.Equal(p, data) {
			t.Errorf("page %d: %v", page, err)
		}
	}
	for page := range uint64(image.ClusterPages) {
		if err := w.Write(page, 0, data); err != nil {
			t.Error(err)
		}
		if err := w.Read(page, 0, p); err != nil || !bytes.Equal(p, data) {
			t.Errorf("page %d, written again: %v", page, err)
		}
	}
}
