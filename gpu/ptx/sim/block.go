// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/zramfs/zramfs/gpu/ptx"
)

// block is the state of one goroutine that runs one block after the other.
type block struct {
	launch  *launch
	program *program
	number  int
	warps   []*warp
	random  *rand.Rand // nil: lockstep
	limit   uint64
	strict  bool

	clock  uint64 // advances with every barrier, and is never put back
	start  uint64 // the clock when the block began
	synced uint64 // the clock after the last barrier of the block
	shared shared
	found  [lookups]lookup

	stats  Stats
	counts []Count // by instruction
}

// rooms keeps blocks' states from launch to launch: one takes up to a megabyte, and a launch may be
// over in microseconds. A sync.Pool would return only states that the same processor has put into
// it.
type rooms struct {
	mu    sync.Mutex
	empty []*block // guarded by mu
}

func (r *rooms) get(p *program) *block {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.empty) - 1
	if last < 0 {
		return newBlock(p)
	}
	b := r.empty[last]
	r.empty = r.empty[:last]
	return b
}

func (r *rooms) put(b *block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.empty) < runtime.GOMAXPROCS(0) {
		r.empty = append(r.empty, b)
	}
}

func newBlock(p *program) *block {
	b := &block{program: p, shared: newShared(p), counts: make([]Count, len(p.code)), clock: firstTick}
	for i := range p.kernel.Threads() / WarpSize {
		w := &warp{block: b, code: p.code, index: i, r32: make([]row, p.n32+1), r64: make([]wide, p.n64+1), preds: make([]uint32, p.np+1),
			defined: make([]uint32, len(p.registers))}
		w.load(p)
		b.warps = append(b.warps, w)
	}
	return b
}

// enter prepares the state for a launch.
func (b *block) enter(l *launch) {
	b.launch, b.limit, b.strict = l, l.StepLimit, l.Strict
	if b.limit == 0 {
		b.limit = defaultStepLimit
	}
	b.limit = min(b.limit, uint64(maxTicks/len(b.warps)-1)) // each may be a barrier
	p := b.program
	for _, w := range b.warps {
		for i, at := range p.params32 {
			w.setRow(at, uint32(l.args[i]))
		}
		for i, at := range p.params64 {
			w.setWide(at, l.args[i])
		}
		w.setRow(p.specials[ptx.NctaidX], uint32(l.grid))
	}
}

// leave adds the counts of all this goroutine's blocks to the launch, and clears them.
func (b *block) leave() {
	b.stats.Instruction = b.counts
	for i, c := range b.counts {
		b.stats.Instructions += c.Warps
		b.stats.Lanes += c.Lanes
		b.stats.Class[b.program.code[i].class] += c.Warps
	}
	b.launch.mu.Lock()
	b.launch.stats.Add(&b.stats)
	b.launch.mu.Unlock()
	b.stats = Stats{}
	clear(b.counts)
	b.found = [lookups]lookup{}
	b.launch = nil
}

// load fills the constant registers.
func (w *warp) load(p *program) {
	for v, at := range p.constants32 {
		w.setRow(at, v)
	}
	for v, at := range p.constants64 {
		w.setWide(at, v)
	}
	if at := p.constantPreds[1]; at >= 0 {
		w.preds[at] = full
	}
	w.setRow(p.specials[ptx.NtidX], uint32(p.kernel.Threads()))
	w.setLanes(p.specials[ptx.LaneID], func(lane uint32) uint32 { return lane })
	w.setLanes(p.specials[ptx.LanemaskLT], func(lane uint32) uint32 { return 1<<lane - 1 })
	w.setLanes(p.specials[ptx.TidX], func(lane uint32) uint32 { return uint32(w.index)*WarpSize + lane })
}

func (w *warp) setLanes(at int32, f func(lane uint32) uint32) {
	if at < 0 {
		return
	}
	for lane := range w.r32[at] {
		w.r32[at][lane] = f(uint32(lane))
	}
}

func (w *warp) setRow(at int32, v uint32) {
	w.setLanes(at, func(uint32) uint32 { return v })
}

func (w *warp) setWide(at int32, v uint64) {
	for lane := range w.r64[at] {
		w.r64[at][lane] = v
	}
}

// begin prepares the state for a block.
func (b *block) begin(number int) {
	b.tick()
	b.number, b.start, b.synced = number, b.clock, b.clock
	b.random = b.launch.source(number)
	b.shared.reset()
	for _, w := range b.warps {
		w.random = b.random
		w.begin()
		w.setRow(b.program.specials[ptx.CtaidX], uint32(number))
	}
	b.stats.Blocks++
	b.stats.Warps += uint64(len(b.warps))
}

// tick advances the clock.
func (b *block) tick() { b.clock++ }
