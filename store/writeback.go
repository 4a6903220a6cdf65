// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

// Errors of WriteBack. Those of the backing device wrap ErrBacking.
var (
	// ErrNoBacking: the store was made without a backing device.
	ErrNoBacking = errors.New("no backing device")
	// ErrBackingFull: each block of the backing device holds a page.
	ErrBackingFull = errors.New("backing device is full")
	// ErrBudget: WritebackConfig.Grant allows no further page.
	ErrBudget = errors.New("writeback limit is reached")
)

// A Selection is of pages that have an object in memory: those from First to before End, and of
// them those that meet all that is asked.
type Selection struct {
	First, End     uint64
	Idle           bool // MarkIdle marked them and they were not accessed since
	Huge           bool // they are stored as they are, PageSize bytes
	Incompressible bool // Recompress could not make them smaller
	// Age is how long they were not accessed, as RecompressConfig.Age has it.
	Age time.Duration
}

// WritebackConfig says what WriteBack writes.
type WritebackConfig struct {
	// Pages are written that one of these selects.
	Pages []Selection
	// Coldest, if not 0, leaves out of these pages all but the coldest: those of the greatest ages
	// known that are at least Coldest together.
	Coldest int
	// Grant, if set, is asked before a number of pages are written how many of them may be,
	// and told afterwards by a negative number how many were not. An error of it ends WriteBack.
	Grant func(pages int) (granted int, err error)
}

// WrittenBack says what WriteBack has done.
type WrittenBack struct {
	Pages   uint64 // pages that lie on the backing device by now
	Changed uint64 // pages that a request changed or discarded while they were written
}

// WriteBack moves objects of selected pages to the backing device, the largest first, while
// requests go on, and returns once the device has them. A page that a request changes during that
// stays in memory. The memory of an object is freed only when the device has it; as in kernel zram
// a page that is read from the device stays there, until it is written anew or discarded. An object
// that takes no more memory than what would stay of it, 48 bytes, is left where it is.
//
// WriteBack fails with ErrNoBacking, ErrBackingFull, ErrBudget, the errors of Grant, ErrFull where
// there is no memory for the stubs of pages, ErrClosed, and with ErrBacking where the device fails:
// then the pages that it did not take are in memory. Calls wait for one another. None takes a
// worker from the requests, and the maintainer waits for a piece at a time.
func (s *Store) WriteBack(cfg WritebackConfig) (WrittenBack, error) {
	if s.writtenBack.device == nil {
		return WrittenBack{}, ErrNoBacking
	}
	if !s.operators.TryRLock() {
		return WrittenBack{}, ErrClosed
	}
	defer s.operators.RUnlock()
	b := &s.writtenBack.batch
	b.writing.Lock()
	defer b.writing.Unlock()
	w := writeback{s: s, b: b, cfg: cfg}
	err := w.run()
	s.ages.stale.Store(true)
	s.poke()
	return w.did, err
}

// A batch is the pages that are written together.
type batch struct {
	writing sync.Mutex // held by WriteBack, which has the other fields
	sealer  *sealer
	sealed  []byte             // blocks, for one write
	room    []byte             // where one block is sealed, with its tag
	items   [batchPages]item   // pages
	copies  [batchPages][]byte // their objects, as they were
	// open is where their stubs come to lie, and spare a segment for when it has no room, taken
	// while there still is some: writes would take all that is freed, and a full store without
	// room for stubs would stay full. Both guarded by Store.passMu. The last ready segment stays
	// the compactor's for the same reason: the memory that stubs free lies here and there, and
	// only the compactor can gather it.
	open, spare openSegment
}

// batchPages is the number of pages written together.
const batchPages = 32

// An item is a page that is being written back.
type item struct {
	page uint64
	stub image.Stub
}

// init divides a buffer of roomEach bytes a page.
func (b *batch) init(p []byte) {
	b.sealed, p = p[:batchPages*PageSize:batchPages*PageSize], p[batchPages*PageSize:]
	for i := range b.copies {
		b.copies[i], p = p[:PageSize:PageSize], p[PageSize:]
	}
	b.room = make([]byte, sealedSize)
}

// A writeback is a call of WriteBack.
type writeback struct {
	s     *Store
	b     *batch
	cfg   WritebackConfig
	least byte // code of the least age that is written back
	did   WrittenBack
}

func (w *writeback) run() error {
	order := bySize{s: w.s, window: windowPages, wanted: w.wanted, batch: w.batch, pause: w.ended}
	if w.cfg.Coldest == 0 {
		return order.run()
	}
	var found [ageCodes][sizeClasses]int
	_, err := order.scan(0, 0, sizeClasses-1, func(c candidate) bool {
		found[w.s.ages.of(c.page)&ageCode][c.class]++
		return true
	})
	if err != nil {
		return err
	}
	var coldest [sizeClasses]int
	for code, pages := ageCodes-1, 0; code >= 0 && pages < w.cfg.Coldest; code-- {
		w.least = byte(code)
		for class, n := range found[code] {
			coldest[class] += n
			pages += n
		}
	}
	return order.forEachBySize(&coldest)
}

// ended returns why the call is to end before it is done, or nil.
func (w *writeback) ended() error {
	if w.s.closing() {
		return ErrClosed
	}
	return nil
}

// wanted reports whether a page is to be written back: one whose object takes more memory than a
// stub.
func (w *writeback) wanted(page uint64, e image.Entry) bool {
	if !e.Object() || e.WrittenBack() || !e.Valid(w.s.image.Segments) || image.Footprint(e.Share()) <= image.Footprint(image.StubSize) {
		return false
	}
	flags := w.s.ages.of(page)
	if flags&ageCode < w.least {
		return false
	}
	for _, c := range w.cfg.Pages {
		if page >= c.First && page < c.End && (!c.Idle || flags&ageIdle != 0) && (!c.Huge || e.Codec() == codec.Raw) &&
			(!c.Incompressible || flags&ageSticky == ageUncompressing) && oldEnough(flags, c.Age) {
			return true
		}
	}
	return false
}

// batch writes back some pages of a window and returns how many it has dealt with.
func (w *writeback) batch(window []candidate) (dealt int, err error) {
	if err := w.awaitRoom(); err != nil {
		return 0, err
	}
	granted := min(len(window), batchPages)
	if w.cfg.Grant != nil {
		if granted, err = w.cfg.Grant(granted); err != nil {
			return 0, err
		}
		if granted == 0 {
			return 0, ErrBudget
		}
	}
	first, room := w.s.writtenBack.blocks.take(granted)
	done := w.did.Pages
	if room == 0 {
		err = ErrBackingFull
	} else {
		dealt, err = w.write(window, first, room)
	}
	if unused := granted - int(w.did.Pages-done); w.cfg.Grant != nil && unused > 0 {
		_, gerr := w.cfg.Grant(-unused)
		err = errors.Join(err, gerr)
	}
	return dealt, err
}

// write writes back pages of a window to as many blocks from first on as there is room for.
func (w *writeback) write(window []candidate, first uint64, room int) (dealt int, err error) {
	dealt, n := w.gather(window, room)
	for i := n; i < room; i++ {
		w.s.writtenBack.blocks.release(first + uint64(i))
	}
	if n == 0 {
		return dealt, nil
	}
	w.seal(first, n)
	invariant.Point("blocks to be written")
	if err := w.s.writtenBack.device.write(w.b.sealed[:n*PageSize], first); err != nil {
		w.s.errors.note(failedWriteback)
		for i := range n {
			w.s.writtenBack.blocks.release(first + uint64(i))
		}
		return dealt, fmt.Errorf("write back %d pages: %w", n, err)
	}
	invariant.Point("blocks written")
	w.s.writtenBack.writes.Add(int64(n))
	return dealt, w.publish(n)
}

// gather copies the objects of up to room pages of a window that are still wanted. It returns how
// many pages it has looked at, and how many copied.
func (w *writeback) gather(window []candidate, room int) (dealt, n int) {
	s := w.s
	s.passMu.Lock()
	defer s.passMu.Unlock()
	c := s.compactor()
	for dealt < len(window) && n < room {
		page := window[dealt].page
		dealt++
		if s.idx.load(page).Clustered() {
			err := s.uncluster(page)
			if errors.Is(err, ErrFull) && s.grow() == nil { // the maintainer may be behind
				err = s.uncluster(page)
			}
			if err != nil {
				continue // a request is at it, or there is no memory for an object of its own
			}
		}
		c.beginRead()
		if e := s.idx.load(page); !e.Clustered() && w.wanted(page, e) { // a packer may just have joined it
			if packed, err := s.object(page, e); err == nil { // a damaged one is left for a read to find
				copy(w.b.copies[n], packed)
				w.b.items[n] = item{page: page, stub: image.Stub{Length: uint16(len(packed)), Codec: e.Codec()}}
				n++
			}
		}
		c.endRead()
	}
	return dealt, n
}

// seal encrypts the first n pages of the batch for blocks from first on.
func (w *writeback) seal(first uint64, n int) {
	serial := w.s.writtenBack.device.secret.serials(n)
	for i := range w.b.items[:n] {
		it := &w.b.items[i]
		it.stub.Block, it.stub.Serial = uint32(first)+uint32(i), serial+uint64(i)
		copy(w.b.room, w.b.copies[i][:it.stub.Length])
		w.b.sealer.seal(w.b.room, it.page, &it.stub)
		copy(w.b.sealed[i*PageSize:], w.b.room[:PageSize])
	}
}

// awaitRoom waits until there is room for the stubs of a batch, as a write waits for memory, and
// takes some beyond the memory limit where that is in vain.
func (w *writeback) awaitRoom() error {
	have := func() bool {
		w.s.passMu.Lock()
		defer w.s.passMu.Unlock()
		return w.s.writtenBack.haveRoom(w.s)
	}
	wait := w.s.waitForMemory(false)
	wait.relies = false // it may be the relief itself
	for !have() {
		if wait.over() {
			return w.s.roomBeyond()
		}
		wait.pause()
	}
	return nil
}

// haveRoom takes a segment for stubs once half of the one before is used, and goes on to it where
// that has no room for those of a batch. It reports whether there is room. The maintainer calls it
// before it is needed, since a store that is full has none to give. The caller holds passMu.
func (a *writtenBack) haveRoom(s *Store) bool {
	b := &a.batch
	left := b.open.end - b.open.next
	if a.device == nil || left >= image.SegmentSize/2 {
		return true
	}
	if b.spare.end == 0 {
		n, ok := s.tryTake(1)
		a.short.Store(!ok)
		if ok {
			b.spare = openAt(n)
		}
	}
	if enough := left >= batchPages*uint64(image.Footprint(image.StubSize)); enough || b.spare.end == 0 {
		return enough
	}
	defer a.lendRoom(s.compactor())()
	s.compactor().seal()
	s.compactor().open, b.spare = b.spare, openSegment{}
	return true
}

// lendRoom lets the compactor append to the stubs until the function that it returns is called.
func (a *writtenBack) lendRoom(c *Worker) (end func()) {
	c.open, a.batch.open = a.batch.open, c.open
	return func() { c.open, a.batch.open = a.batch.open, c.open }
}

// publish gives the first n pages of the batch stubs, if their objects are what was written.
func (w *writeback) publish(n int) error {
	s := w.s
	s.passMu.Lock()
	defer s.passMu.Unlock()
	c := s.compactor()
	defer s.writtenBack.lendRoom(c)()
	var payload [image.StubSize]byte
	for i := range w.b.items[:n] {
		it := &w.b.items[i]
		to, err := c.place(it.page, image.WrittenBack, it.stub.Append(payload[:0]))
		if err != nil {
			for _, rest := range w.b.items[i:n] {
				s.writtenBack.blocks.release(uint64(rest.stub.Block))
			}
			return err
		}
		if s.publishStub(it, w.b.copies[i][:it.stub.Length], to) {
			w.did.Pages++
		} else {
			c.deferFree(to)
			w.did.Changed++
		}
	}
	c.reclaim(true)
	return nil
}

// publishStub makes to the entry of a page whose object is still old, and reports whether it is.
// The caller holds passMu.
func (s *Store) publishStub(it *item, old []byte, to image.Entry) bool {
	s.sweepUnder(it.page)
	l, c := s.lock(it.page), s.compactor()
	for tries := 0; !l.TryLock(); tries++ { // a writer may hold it while it waits for us
		if tries == rescueTries {
			return false
		}
		time.Sleep(waitPause / 10)
	}
	defer l.Unlock()
	e := s.idx.load(it.page)
	if !s.holds(it.page, e, it.stub.Codec, old) {
		return false
	}
	invariant.Point("stub placed")
	s.idx.swap(it.page, to)
	invariant.Point("page written back")
	s.ages.mark(it.page, 0, ageIdle|ageSticky)
	c.count.add(to, +1)
	c.count.add(e, -1)
	c.deferFree(e)
	return true
}
