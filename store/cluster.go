// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// Cold pages that lie side by side can share an object, a cluster, which takes less memory than
// theirs: their entries are the same. They have one lock too, so that the holder sees whether
// another page still shares what it gives up, and the last one frees the object. That needs no
// count: as with other objects, the index is the truth.
//
// A page that is written or discarded leaves its part of the cluster behind. The maintainer gives
// the pages of a cluster that has lost too many objects of their own again.

// clusters is what the store has for them.
type clusters struct {
	readers atomic.Pointer[clusterReaders] // nil until there is a cluster
	left    atomic.Int64                   // pages that left clusters behind since the last whole walk began
	pass    unclustering                   // guarded by Store.passMu
}

// clusterReaders unpack pages of clusters. They are few, since they are large and such pages cold.
type clusterReaders [2]clusterReader

type clusterReader struct {
	mu sync.Mutex
	d  *codec.ClusterDecompressor // guarded by mu
	_  apart
}

// prepare makes what reading clusters needs. It is called before there is any, off the page path.
func (c *clusters) prepare(s *Store) error {
	if c.readers.Load() != nil {
		return nil
	}
	readers := new(clusterReaders)
	for i := range readers {
		d, err := s.cfg.Algorithm.NewClusterDecompressor()
		if err != nil {
			return err
		}
		readers[i].d = d
		if s.cfg.Prefault != nil {
			s.cfg.Prefault([]any{d})
		}
	}
	c.readers.Store(readers)
	return nil
}

// unpack fills dst with a page of the cluster whose payload packed is.
func (c *clusters) unpack(dst []byte, page uint64, packed []byte) error {
	readers := c.readers.Load()
	if readers == nil {
		return fmt.Errorf("%w: page %d: a cluster where there are none", ErrCorrupt, page)
	}
	r := readers.take(page)
	defer r.mu.Unlock()
	if err := r.d.DecompressCluster(dst, codec.PageDenseCluster, int(page%image.ClusterPages), packed); err != nil {
		return fmt.Errorf("%w: page %d: %w", ErrCorrupt, page, err)
	}
	return nil
}

// take locks a reader that is free, or waits for one.
func (all *clusterReaders) take(page uint64) *clusterReader {
	for i := range all {
		if all[i].mu.TryLock() {
			return &all[i]
		}
	}
	r := &all[page/image.ClusterPages%uint64(len(all))]
	r.mu.Lock()
	return r
}

// sharing yields the other pages that share the object of a page's entry. The caller holds the
// page's lock, or nothing else uses the store.
func (s *Store) sharing(page uint64, e image.Entry) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if !e.Clustered() {
			return
		}
		first := e.Owner(page)
		for other := first; other < min(first+image.ClusterPages, s.image.Pages); other++ {
			if o := s.idx.load(other); other != page && o.Clustered() && o.Where() == e.Where() && !yield(other) {
				return
			}
		}
	}
}

// shared reports whether another page shares the object of a page's entry.
func (s *Store) shared(page uint64, e image.Entry) bool {
	for range s.sharing(page, e) {
		return true
	}
	return false
}

// firstOf reports whether a page is the first of those that share its object.
func (s *Store) firstOf(page uint64, e image.Entry) bool {
	for other := range s.sharing(page, e) {
		return page < other
	}
	return true
}

// dropRef retires what was the entry of a page, unless others share its object. The caller holds
// the page's lock.
func (w *Worker) dropRef(page uint64, e image.Entry) {
	if e.Clustered() {
		if w.s.shared(page, e) {
			if n := w.s.clusters.left.Add(1); n%leastLeft == 0 && w.s.sleeping.Load() {
				w.s.poke()
			}
			return
		}
		w.count.addObject(e, -1)
	}
	w.deferFree(e)
}

// adoptClusters prepares for the clusters that Open has found, and has the maintainer look at them.
func (s *Store) adoptClusters() error {
	n := s.base.pages[codec.PageDenseCluster].Load()
	if n == 0 {
		return nil
	}
	s.clusters.left.Store(n)
	if err := s.clusters.prepare(s); err != nil {
		return fmt.Errorf("prepare to read clusters: %w", err)
	}
	return nil
}

// clustered is how many pages are in clusters.
func (s *Store) clustered() int64 {
	return int64(s.sum(func(c *counters) *atomic.Int64 { return &c.pages[codec.PageDenseCluster] }))
}

// unclustering is a walk of the maintainer over clusters.
type unclustering struct {
	under bool   // it is under way
	next  uint64 // page that it comes to next, the first of a cluster
	left  int64  // pages that left clusters behind before it
}

const (
	leastLeft      = 1 << 10 // pages that leave clusters behind before the maintainer walks
	leftShare      = 64      // part of the pages in clusters that does
	unclusterPages = 8 << 10 // of a pass: below a millisecond where there is nothing to do
	unclusterMost  = 32      // pages that get objects of their own in a pass: about a millisecond
)

// unclusterSome gives pages of clusters that many pages have left objects of their own, a bounded
// number, and says when to look again, 0 for not before the next poke. Where memory was denied, it
// looks as soon as any page has left. The caller holds passMu.
func (s *Store) unclusterSome(denied bool) (again time.Duration) {
	c := &s.clusters
	if !c.pass.under {
		least := max(leastLeft, s.clustered()/leftShare)
		if denied {
			least = 1
		}
		if c.left.Load() < least {
			return 0
		}
		c.pass = unclustering{under: true, left: c.left.Load()}
	}
	end := min(c.pass.next+unclusterPages, s.image.Pages)
	for done := 0; c.pass.next < end && done < unclusterMost; {
		if !s.idx.has(c.pass.next / image.EntriesPerPage) {
			c.pass.next = s.idx.next(c.pass.next/image.EntriesPerPage, true) * image.EntriesPerPage
			continue
		}
		n, err := s.unclusterAt(c.pass.next)
		if err != nil {
			c.pass.under = false
			return settleEvery
		}
		done += n
		c.pass.next += image.ClusterPages
	}
	if c.pass.under = c.pass.next < s.image.Pages; c.pass.under {
		return compactEvery
	}
	c.left.Add(-c.pass.left)
	return 0
}

// unclusterAt does so with the pages from first on, and returns how many.
func (s *Store) unclusterAt(first uint64) (n int, err error) {
	for sparse := s.sparseAt(first); sparse != 0; sparse &= sparse - 1 {
		err := s.uncluster(first + uint64(bits.TrailingZeros8(sparse)))
		if err != nil && err != errBusy {
			return n, err
		}
		n++
	}
	return n, nil
}

// sparseAt has a bit for each page from first on that shares an object which a quarter of the pages
// have left that it was made of.
func (s *Store) sparseAt(first uint64) (sparse uint8) {
	var here [image.ClusterPages]image.Entry
	some := false
	for i := range here {
		if page := first + uint64(i); page < s.image.Pages {
			here[i] = s.idx.load(page)
			some = some || here[i].Clustered()
		}
	}
	if !some {
		return 0
	}
	for i, e := range here {
		if page := first + uint64(i); e.Clustered() && e.Valid(s.image.Segments) && s.owns(page, e) {
			made, left := s.image.HeaderAt(e.Where()).Members, 0
			for j, other := range here {
				if made>>j&1 != 0 && !(other.Clustered() && other.Where() == e.Where()) {
					left++
				}
			}
			if 4*left >= bits.OnesCount8(made) {
				sparse |= 1 << i
			}
		}
	}
	return sparse
}

// uncluster gives a page an object of its own in place of its share of a cluster. It fails with
// errBusy where a request is at the page, and with ErrFull. A damaged page stays as it is, for a
// read to find. The caller holds passMu.
func (s *Store) uncluster(page uint64) error {
	s.sweepUnder(page)
	c, l := s.compactor(), s.lock(page)
	if !s.maySpend(image.Footprint(PageSize)) {
		return ErrFull
	}
	if !l.TryLock() { // a writer may hold it while it waits for us
		return errBusy
	}
	defer l.Unlock()
	e := s.idx.load(page)
	if !e.Clustered() || c.load(page, e, 0, c.page[:]) != nil {
		return nil
	}
	to, err := c.encode(page, c.page[:])
	if err != nil {
		return err
	}
	invariant.Point("page of a cluster placed")
	s.idx.swap(page, to)
	invariant.Point("page taken out of its cluster")
	s.ages.mark(page, 0, ageSticky)
	c.count.add(to, +1)
	c.count.add(e, -1)
	c.dropRef(page, e)
	return nil
}
