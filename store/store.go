// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store/internal/image"
	"github.com/zramfs/zramfs/store/internal/invariant"
)

const (
	// PageSize is the unit of storage, in bytes.
	PageSize = image.PageSize

	// MaxDisksize is the largest device, in bytes: 2^32 pages.
	MaxDisksize = image.MaxDisksize
)

// Errors of opening an image that is not ours, or not as we left it.
var (
	// ErrMagic: the file does not hold a zramfs image.
	ErrMagic = image.ErrMagic
	// ErrVersion: the image has a layout that this program does not read.
	ErrVersion = image.ErrVersion
	// ErrChecksum: the superblock is damaged.
	ErrChecksum = image.ErrChecksum
	// ErrGeometry: the superblock's numbers contradict each other or the file.
	ErrGeometry = image.ErrGeometry
)

// Errors of the verbs; match them with errors.Is.
var (
	// ErrFull: the memory limit is reached, or the machine has no memory to
	// give. The page keeps what it held; writes work again once pages are freed.
	ErrFull = errors.New("store is full")
	// ErrCorrupt: what is stored for a page is not what was written.
	ErrCorrupt = errors.New("stored page is corrupt")
	// ErrRange: a page beyond the device, or bytes beyond the page.
	ErrRange = errors.New("outside the device")
	// ErrConfig: a Config that cannot be; the message says why.
	ErrConfig = errors.New("bad store configuration")
	// ErrClosed: the store is being closed.
	ErrClosed = errors.New("store is closed")
)

// presentSegments is the number of segments whose descriptions are made present at the start, which
// takes 64 KiB and suffices for 1 GiB of stored pages.
const presentSegments = 4 << 10

// populateUpTo is the device size, in bytes, up to which the whole index is
// taken from the machine at the start: 512 KiB, less than what the index of a
// larger device takes ahead of its first write.
const populateUpTo = 256 << 20

// A Store keeps pages compressed in an image. It is safe for concurrent use:
// each request takes a Worker.
type Store struct {
	image    image.Image     // immutable views of the memory
	memory   *Memory         // immutable
	cfg      Config          // immutable
	atFirst  int             // segments to hold ready while nothing is stored, but for the memory limit; immutable
	mayWait  int32           // how many requests may wait for memory; immutable
	patience time.Duration   // how long each does at the most; immutable
	segments []segment       // immutable slice, for Store.segment; fields atomic
	workers  []*Worker       // immutable; the last one is the compactor's
	totals   []atomic.Uint64 // rows, see Config.Totals; immutable slice
	// takeSegment takes the memory of the segment at takeAt: made once, because a closure for each
	// would be garbage. takeAt is used by one goroutine at a time; see growCharged.
	takeSegment func() error
	takeAt      int64
	errors      errorLog
	operators   sync.RWMutex // read-locked by what Close has to wait for
	idx         index
	ages        ages
	writtenBack writtenBack
	clusters    clusters
	wake        chan struct{} // one pending wake-up of the maintainer
	stop        chan struct{} // closed by Close
	stopped     chan struct{} // closed by the maintainer
	_           apart

	// Every request reads these, and few change them.
	full           atomic.Bool                     // the last pass was denied memory and could not raise the reserve
	denied         atomic.Bool                     // as full, also while pages are looked for that may give some back
	relief         atomic.Bool                     // denied, and Config.Relief makes room
	stall          atomic.Bool                     // see Stall
	quiet          atomic.Bool                     // quiesce waits for all workers, so no write stalls
	sleeping       atomic.Bool                     // the maintainer sleeps without a timer
	openMayBeEmpty atomic.Bool                     // an open segment may have lost its last object; lowered by the maintainer alone
	unswept        atomic.Int64                    // segments that sweep has to go through yet
	limit          atomic.Uint64                   // that is in force; see SetMemLimit
	limitChanged   atomic.Bool                     // it was changed since the maintainer last looked
	asked          atomic.Uint64                   // that was set
	atMost         atomic.Int64                    // segments to hold ready at the most
	algorithm      atomic.Pointer[codec.Algorithm] // what new pages are compressed by; see SetAlgorithm
	_              apart

	epoch atomic.Uint64 // counts grace periods, from 1; every write raises it
	_     apart

	charged      atomic.Int64 // memory taken, or about to be, from the machine; bytes
	peak         total        // of charged; immutable, as the next three are
	waiting      atomic.Int32 // requests that wait for memory
	recompressed total        // pages whose object Recompress replaced
	compacts     total        // bytes given back by compaction
	recounts     total        // segments that a recount emptied
	tails        atomic.Int64 // of all segments; bytes
	_            apart

	mu    sync.Mutex // guards the fields below
	ready []uint32   // segments with cleared memory, to be taken
	empty []uint32   // segments whose last object is gone
	void  []uint32   // segments whose memory was given back
	fresh uint64     // segments from here on never had memory
	begun uint64     // maintenance passes begun
	ended uint64     // and ended
	_     apart

	passMu    sync.Mutex // held by a maintenance pass; Check excludes passes with it
	written   uint64     // pages written when a pass last saw writes; guarded by passMu
	lastWrite time.Time  // when that was; guarded by passMu
	filled    int        // per cent that OnFill was last told of; guarded by passMu
	fullAt    int        // per cent that were in use when it was full last; guarded by passMu
	fullLast  time.Time  // when that was; guarded by passMu
	recount   recount    // guarded by passMu
	tidying   tidying    // guarded by passMu
	turnEnd   time.Time  // of the pass; guarded by passMu
	sweepNext uint64     // segments from here on need no sweep; guarded by passMu
	base      counters   // what was there at Open; immutable after
	_         apart

	same  sameTable
	_     apart
	locks [lockStripes]stripe // a page's lock is the stripe of the cluster that it could be in
}

// apart keeps the fields before it and after it on different cache lines, so that
// a processor that writes the ones does not slow down others that read the others.
type apart [cacheLine]byte

const cacheLine = 64 // bytes, on amd64 and most of arm64

const lockStripes = 1024

// A stripe has a cache line to itself.
type stripe struct {
	sync.Mutex
	_ [cacheLine - 8]byte
}

// Create lays an empty image into mem, which must be new, and opens it. If a process
// dies before Create returns, Open may refuse the image with ErrMagic or ErrChecksum;
// Create then begins again.
func Create(mem *Memory, cfg Config) (*Store, error) {
	if cfg.Disksize == 0 || cfg.Disksize > MaxDisksize || cfg.Disksize%PageSize != 0 {
		return nil, fmt.Errorf("%w: size %d: want a multiple of %d bytes, up to 16 TiB", ErrConfig, cfg.Disksize, PageSize)
	}
	b := image.NewSuperblock(cfg.Disksize, segmentsFor(cfg), cfg.Backing != nil)
	g := b.Geometry()
	if need := LeastLimit(cfg); cfg.MemLimit != 0 && cfg.MemLimit < need {
		return nil, fmt.Errorf("%w: memory limit of %d bytes: a device of %d bytes takes %d before it stores anything",
			ErrConfig, cfg.MemLimit, cfg.Disksize, need)
	}
	if err := mem.reserve(g.Size); err != nil {
		return nil, fmt.Errorf("map image: %w", err)
	}
	if err := mem.allocate(0, g.IndexOffset); err != nil {
		return nil, errors.Join(fmt.Errorf("allocate superblock: %w", err), mem.unmap())
	}
	copy(mem.mem, b.Encode())
	invariant.Point("superblock written")
	return open(mem, cfg, b, true)
}

// Open carries on from the image that another Store left in mem; cfg's
// Disksize is the image's. Open rebuilds from the index what is derived from it.
func Open(mem *Memory, cfg Config) (*Store, error) {
	var page [PageSize]byte
	if err := mem.readAt(page[:], 0); err != nil {
		return nil, fmt.Errorf("read superblock: %w", err)
	}
	b, err := image.DecodeSuperblock(page[:])
	if err != nil {
		return nil, err
	}
	if b.Backed() != (cfg.Backing != nil) {
		return nil, fmt.Errorf("%w: the image was made with a backing device: %v; it is opened with one: %v", ErrConfig, b.Backed(), cfg.Backing != nil)
	}
	cfg.Disksize = b.Disksize
	g := b.Geometry()
	if err := mem.reserve(g.Size); err != nil {
		return nil, fmt.Errorf("map image: %w", err)
	}
	if err := mem.populate(0, g.IndexOffset); err != nil {
		return nil, errors.Join(fmt.Errorf("populate superblock: %w", err), mem.unmap())
	}
	return open(mem, cfg, b, false)
}

// Check reports whether Open could read the image in m, and changes nothing. Memory
// that is empty passes.
func (m *Memory) Check() error {
	var page [PageSize]byte
	if err := m.readAt(page[:], 0); err != nil {
		return fmt.Errorf("read superblock: %w", err)
	}
	if page == [PageSize]byte{} {
		return nil
	}
	_, err := image.DecodeSuperblock(page[:])
	return err
}

const (
	reserveBeside = 1  // segments ready at first, and one for each worker's first write
	reserveShare  = 16 // of the memory that the segments have, the part that waits ready grows with
)

// target is how many segments to hold ready now. An empty device is not kept ready for the
// burst of a full one: the reserve grows with what is stored. Beyond the memory limit there are
// those that writes leave, for what brings the use below the limit.
func (s *Store) target() int {
	if s.over() {
		return s.keptReady()
	}
	n := min(s.atFirst+int(s.backedBytes()/(reserveShare*image.SegmentSize)), int(s.atMost.Load()))
	return max(n, s.keptReady()+1) // or a write would wait for a segment without end
}

// open builds what lies outside the image and starts the maintainer. The totals of a new image
// begin once there is memory for it: without, the caller may go on with another image.
func open(mem *Memory, cfg Config, b image.Superblock, anew bool) (s *Store, err error) {
	g := b.Geometry()
	defer func() {
		if err != nil {
			err = errors.Join(err, mem.unmap())
		}
	}()
	s = &Store{
		image: image.Image{Geometry: g, Mem: mem.mem}, memory: mem, cfg: cfg,
		segments: make([]segment, (g.Segments+63)&^63),
		empty:    make([]uint32, 0, g.Segments), void: make([]uint32, 0, g.Segments),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	defer func(a *writtenBack) {
		if err != nil {
			err = errors.Join(err, dropBuffer(a.buffer))
		}
	}(&s.writtenBack)
	s.algorithm.Store(&cfg.Algorithm)
	s.setLimit(cfg.MemLimit)
	unlimited := cfg
	unlimited.MemLimit = 0
	s.ready = make([]uint32, 0, reserveMost(unlimited)+1)
	s.takeSegment = func() error { return s.memory.allocate(s.takeAt, image.SegmentSize) }
	s.patience = maxWait
	s.epoch.Store(1)
	s.errors.words = s.image.Errors()
	s.same.words, s.same.renewals = s.image.SameTable(), s.image.Renewals()
	if err := s.makeWorkers(); err != nil {
		return nil, err
	}
	if err := s.writtenBack.init(s); err != nil {
		return nil, err
	}
	if err := s.idx.init(s); err != nil {
		return nil, fmt.Errorf("take memory for the index: %w", err)
	}
	invariant.Point("index adopted")
	if err := s.rebuild(); err != nil {
		return nil, err
	}
	if anew {
		s.startTotals()
	}
	s.pass(time.Hour) // fills the reserve
	if s.reserve() == 0 {
		// The pages stored take more than the limit, or all there is, of memory or of
		// segments: the compactor needs one to change that. Without it reads are served all the
		// same.
		s.charged.Add(image.SegmentSize)
		if err := s.growCharged(); err != nil && !errors.Is(err, ErrNoMemory) && !errors.Is(err, ErrFull) {
			return nil, err
		}
	}
	s.idx.giving.wanted.Store(!anew) // the process before may not have come to it
	s.poke()                         // there may be segments to sweep
	go s.maintain()
	return s, nil
}

const (
	maxWorkers  = 64
	leftToReads = 2 // workers that waiting writes leave free
)

func (s *Store) makeWorkers() error {
	n := s.cfg.Workers
	if n == 0 {
		n = 2 * runtime.GOMAXPROCS(0)
	}
	n = min(max(n, 4), maxWorkers)
	s.atFirst = n + reserveBeside
	for range n + 1 {
		w, err := newWorker(s)
		if err != nil {
			return err
		}
		w.effort = codec.MaxEffort
		if present := s.cfg.Prefault; present != nil {
			present([]any{w.coder.Load(), w.decompressor, w.retired, &w.packed, &w.page})
		}
		s.workers = append(s.workers, w)
	}
	s.keepTotals()
	s.recount.drained = make([]bool, n)
	if s.cfg.Prefault != nil {
		// The maintainer uses the lists while writes wait for it.
		k := min(len(s.segments), presentSegments)
		s.cfg.Prefault([]any{&s.locks, s.segments[:k:k], s.empty[:0:min(k, cap(s.empty))], s.void[:0:min(k, cap(s.void))], s.ready, s.recount.drained})
	}
	s.compactor().busy.Store(true) // never handed out
	s.mayWait = int32(n - leftToReads)
	if s.cfg.MaxWaiting != 0 {
		s.mayWait = int32(min(s.cfg.MaxWaiting, n-leftToReads))
	}
	return nil
}

// compactor is the maintainer's own worker; guarded by passMu.
func (s *Store) compactor() *Worker { return s.workers[len(s.workers)-1] }

// Close ends maintenance and unmaps the image, which stays in its Memory. No worker may be in use.
// It ends a Recompress, and waits for it and for what else an operator has asked for.
func (s *Store) Close() error {
	close(s.stop)
	s.operators.Lock() // for good
	<-s.stopped
	s.quiesce()
	return errors.Join(dropBuffer(s.writtenBack.buffer), s.memory.unmap())
}

// quiesce takes every worker and keeps the maintainer out, so that nothing is
// under way, and frees what was waiting for readers. The workers come first: one
// may be waiting for the maintainer.
func (s *Store) quiesce() {
	s.quiet.Store(true)
	for _, w := range s.workers[:len(s.workers)-1] {
		for !w.busy.CompareAndSwap(false, true) {
			time.Sleep(20 * time.Microsecond) // it may wait for memory
		}
	}
	s.passMu.Lock()
	for _, w := range s.workers {
		w.reclaim(true)
	}
	s.idx.settle()
}

func (s *Store) resume() {
	s.quiet.Store(false)
	s.passMu.Unlock()
	for _, w := range s.workers[:len(s.workers)-1] {
		w.busy.Store(false)
	}
}

// Disksize is the device's size in bytes.
func (s *Store) Disksize() uint64 { return s.cfg.Disksize }

// Pages is the device's size in pages.
func (s *Store) Pages() uint64 { return s.image.Pages }

// lock is the lock of a page: it orders the changes of its entry. The pages of a cluster have the
// same one.
func (s *Store) lock(page uint64) *sync.Mutex { return &s.locks[stripeOf(page)].Mutex }

func stripeOf(page uint64) uint64 { return page / image.ClusterPages * 0x9E3779B97F4A7C15 >> 54 }
