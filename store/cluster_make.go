// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

const (
	// leastMembers is how many pages a cluster is made of at the least: fewer gain little.
	leastMembers = image.ClusterPages / 2
	// clusterGain is the part of the pages' memory that a cluster has to save.
	clusterGain = 32
)

// A Clusterer joins cold pages in clusters, again and again, and makes no garbage. One goroutine
// uses it. It takes a worker from the requests to copy objects and to publish a cluster, and none
// while it compresses.
type Clusterer struct {
	s          *Store
	algorithm  codec.Algorithm
	rest       func(sofar Recompressed)
	compressor codec.ClusterCompressor // nil until it is needed
	age        time.Duration           // of the present run
	did        Recompressed
	gathers    bool        // the run goes by segment
	window     []candidate // of the present segment
	now        [image.ClusterPages]joined
	pages      [image.ClusterPages][PageSize]byte
	packed     [image.MaxPayload]byte
}

// A joined is a page that is to become part of a cluster.
type joined struct {
	object [PageSize]byte // as it is stored now
	length int            // of the object; 0 for a page that takes no part
	id     codec.ID
}

// NewClusterer makes a [Clusterer] whose objects algorithm makes; rest is as in
// [RecompressConfig].Rest.
func (s *Store) NewClusterer(algorithm codec.Algorithm, rest func(sofar Recompressed)) *Clusterer {
	return &Clusterer{s: s, algorithm: algorithm, rest: rest}
}

// Run joins pages that were not accessed for age, while requests go on: a page that a request has
// written since stays as written. Pages that gain nothing are left alone until they are written
// again. Ages and errors are as at [Store.Recompress].
func (c *Clusterer) Run(ctx context.Context, age time.Duration) (Recompressed, error) {
	s := c.s
	if !s.operators.TryRLock() {
		return Recompressed{}, ErrClosed
	}
	defer s.operators.RUnlock()
	c.age, c.did = age, Recompressed{}
	err := c.run(ctx)
	if errors.Is(err, ErrFull) {
		err = c.bySegment(ctx)
	}
	s.ages.stale.Store(true)
	s.poke()
	return c.did, err
}

func (c *Clusterer) run(ctx context.Context) error {
	for first, looked := uint64(0), 0; first < c.s.image.Pages; looked++ {
		n := c.s.idx.next(first/image.EntriesPerPage, true)
		if first = max(first, n*image.EntriesPerPage); n >= c.s.image.IndexPages {
			break
		}
		if first = c.seek(first, n); first < min((n+1)*image.EntriesPerPage, c.s.image.Pages) {
			if err := c.join(first); err != nil {
				return err
			}
			first += image.ClusterPages
			c.rest(c.did)
		} else if looked%scanPages == 0 {
			c.rest(c.did)
		}
		if err := c.s.packingEnds(ctx); err != nil {
			return err
		}
	}
	return nil
}

// bySegment joins the pages of one segment after the other, as a [Recompressor] recompresses them
// in a full store. Neighbours are joined if most of them lie in the same segment.
func (c *Clusterer) bySegment(ctx context.Context) error {
	c.gathers = true
	defer func() { c.gathers = false }()
	for n := range c.s.everUsed() {
		for _, it := range c.s.pagesOf(n, c.window[:0], c.wanted) {
			first := it.page &^ (image.ClusterPages - 1)
			if !c.mostlyIn(n, first) {
				continue
			}
			if err := c.join(first); err != nil {
				return err
			}
			c.rest(c.did)
			if err := c.s.packingEnds(ctx); err != nil {
				return err
			}
		}
		c.rest(c.did)
		if err := c.s.packingEnds(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mostlyIn reports whether the pages from first on that are to be joined are enough, and most of
// them lie in segment n.
func (c *Clusterer) mostlyIn(n, first uint64) bool {
	members, in := c.candidates(first), 0
	c.s.idx.giving.held.RLock()
	defer c.s.idx.giving.held.RUnlock()
	for i := range uint64(image.ClusterPages) {
		if members>>i&1 != 0 && c.s.idx.load(first+i).Segment() == n {
			in++
		}
	}
	return bits.OnesCount8(members) >= leastMembers && 2*in > bits.OnesCount8(members)
}

// seek returns the first page from one on, in index page n, that a cluster may begin with, or where
// the next index page begins.
func (c *Clusterer) seek(first, n uint64) uint64 {
	for ; first < min((n+1)*image.EntriesPerPage, c.s.image.Pages); first += image.ClusterPages {
		if bits.OnesCount8(c.candidates(first)) >= leastMembers {
			return first
		}
	}
	return (n + 1) * image.EntriesPerPage
}

// candidates has a bit for each page from first on that is to be joined.
func (c *Clusterer) candidates(first uint64) (members uint8) {
	c.s.idx.giving.held.RLock()
	defer c.s.idx.giving.held.RUnlock()
	for i := range uint64(image.ClusterPages) {
		if page := first + i; page < c.s.image.Pages && c.wanted(page, c.s.idx.load(page)) {
			members |= 1 << i
		}
	}
	return members
}

// wanted reports whether a page is to be joined with its neighbours.
func (c *Clusterer) wanted(page uint64, e image.Entry) bool {
	if !e.Object() || e.WrittenBack() || e.Clustered() || e.Codec() == codec.Raw || !e.Valid(c.s.image.Segments) {
		return false
	}
	b := c.s.ages.of(page)
	return b&ageSticky != ageSticky && oldEnough(b, c.age)
}

// join makes a cluster of the pages from first on that are to be joined, if that gains something.
func (c *Clusterer) join(first uint64) error {
	if c.compressor == nil {
		if err := c.prepare(); err != nil {
			return err
		}
	}
	members, bytes := c.gather(first)
	if bits.OnesCount8(members) < leastMembers {
		return nil
	}
	n, err := c.compress(members)
	if err != nil {
		return err
	}
	length := image.ClusterLength(n)
	if n == 0 || length > len(c.packed) || image.Footprint(length)+bytes/clusterGain > bytes {
		c.leaveAlone(first, members)
		return nil
	}
	clear(c.packed[n:length])
	if err := c.prove(first, members, c.packed[:length]); err != nil {
		return err
	}
	return c.publish(first, members, c.packed[:length])
}

// prepare makes what is needed for the first cluster.
func (c *Clusterer) prepare() error {
	if err := c.s.clusters.prepare(c.s); err != nil {
		return err
	}
	compressor, err := c.algorithm.NewClusterCompressor()
	if err != nil {
		return err
	}
	c.compressor, c.window = compressor, make([]candidate, 0, recompressWindow/4)
	if c.s.cfg.Prefault != nil { // requests may wait for the worker that a run has
		c.s.cfg.Prefault([]any{compressor, c.window, &c.now, &c.pages, &c.packed})
	}
	return nil
}

// gather copies the objects of the pages from first on that are to be joined and unpacks them. It
// returns which those are, and what their objects take of memory, in bytes. A damaged object is
// left for a read to find.
func (c *Clusterer) gather(first uint64) (members uint8, bytes int) {
	w := c.s.acquireLast()
	defer w.Release()
	for i := range uint64(image.ClusterPages) {
		it, page := &c.now[i], first+i
		it.length = 0
		if page >= c.s.image.Pages {
			continue
		}
		w.beginRead()
		if e := c.s.idx.load(page); c.wanted(page, e) {
			if packed, err := c.s.object(page, e); err == nil {
				it.length, it.id = copy(it.object[:], packed), e.Codec()
			}
		}
		w.endRead()
		if it.length == 0 || w.decompressor.Decompress(c.pages[i][:], it.id, it.object[:it.length]) != nil {
			continue
		}
		members |= 1 << i
		bytes += image.Footprint(it.length)
		c.did.Tried++
	}
	return members, bytes
}

// compress makes the object of the members and returns its length, 0 where there is none.
func (c *Clusterer) compress(members uint8) (int, error) {
	var pages [image.ClusterPages][]byte
	for i := range pages {
		if members>>i&1 != 0 {
			pages[i] = c.pages[i][:]
		}
	}
	id, n, err := c.compressor.CompressCluster(c.packed[:], pages)
	if err != nil || id != codec.PageDenseCluster {
		return 0, err
	}
	return n, nil
}

// publish gives the members that still have the objects which were gathered the cluster with that
// payload.
func (c *Clusterer) publish(first uint64, members uint8, payload []byte) error {
	s := c.s
	w := s.acquireLast()
	defer w.Release()
	w.gathers = c.gathers
	to, err := w.placeFor(first, members, codec.PageDenseCluster, payload)
	if err != nil {
		return err
	}
	for page := first; page < min(first+image.ClusterPages, s.image.Pages); page++ {
		s.sweepUnder(page)
	}
	l := s.lock(first)
	l.Lock()
	defer l.Unlock()
	same := uint8(0)
	for i := range uint64(image.ClusterPages) {
		if it := &c.now[i]; members>>i&1 != 0 && s.holds(first+i, s.idx.load(first+i), it.id, it.object[:it.length]) {
			same |= 1 << i
		}
	}
	changed := bits.OnesCount8(members &^ same)
	c.did.Changed += uint64(changed)
	if bits.OnesCount8(same) < 2 {
		w.deferFree(to)
		return nil
	}
	w.count.addObject(to, +1)
	s.clusters.left.Add(int64(changed))
	joined := 0 // bytes of the objects
	for i := range uint64(image.ClusterPages) {
		if same>>i&1 != 0 {
			w.joinPage(first+i, to)
			joined += c.now[i].length
			c.did.Pages++
		}
	}
	c.did.SavedBytes += uint64(max(joined-len(payload), 0))
	return nil
}

// joinPage makes the entry of a cluster that of a page with an object of its own. The caller holds
// the page's lock.
func (w *Worker) joinPage(page uint64, to image.Entry) {
	s := w.s
	invariant.Point("page to be joined")
	e := s.idx.swap(page, to)
	invariant.Point("page joined")
	s.ages.mark(page, ageRecompressed, ageIdle)
	w.count.add(to, +1)
	w.count.add(e, -1)
	w.deferFree(e)
	s.recompressed.Add(1)
}

// prove fails unless each member comes back from the payload: pages of a cluster are about to lose
// the objects that were read before, and proving takes a hundredth of the time of compressing.
func (c *Clusterer) prove(first uint64, members uint8, payload []byte) error {
	var back [PageSize]byte
	for i := range uint64(image.ClusterPages) {
		if members>>i&1 == 0 {
			continue
		}
		if err := c.s.clusters.unpack(back[:], first+i, payload); err != nil || back != c.pages[i] {
			c.leaveAlone(first, members)
			return fmt.Errorf("the pages from %d on do not come back from a cluster: %w", first, errors.Join(err, ErrCorrupt))
		}
	}
	return nil
}

// leaveAlone has pages not tried again until they are written.
func (c *Clusterer) leaveAlone(first uint64, members uint8) {
	c.s.idx.giving.held.RLock()
	defer c.s.idx.giving.held.RUnlock()
	for i := range uint64(image.ClusterPages) {
		if members>>i&1 != 0 {
			c.did.Incompressible++
			c.s.ages.mark(first+i, ageSticky, 0)
		}
	}
}
