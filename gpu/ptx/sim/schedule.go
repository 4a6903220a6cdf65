// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// A random schedule lets lanes run ahead of each other wherever the machine
// might: a path is split every splitEvery instructions or so, into no more than
// maxPaths, and a warp is left every turnLength or so.
const (
	splitEvery = 4
	maxPaths   = 4
	turnLength = 16
)

// pick selects the path that runs next, if not all wait.
func (w *warp) pick() *path {
	w.dropEmpty()
	if w.allWait() {
		return w.meet()
	}
	i := w.random.IntN(len(w.paths))
	for w.paths[i].waiting {
		i = (i + 1) % len(w.paths)
	}
	if len(w.paths) < maxPaths && w.random.IntN(splitEvery) == 0 {
		w.split(i)
	}
	return &w.paths[i]
}

func (w *warp) dropEmpty() {
	kept := w.paths[:0]
	for _, p := range w.paths {
		if p.mask != 0 {
			kept = append(kept, p)
		}
	}
	w.paths = kept
}

func (w *warp) allWait() bool {
	for i := range w.paths {
		if !w.paths[i].waiting {
			return false
		}
	}
	return true
}

// meet joins all paths. Missing lanes are found when the joined path runs.
func (w *warp) meet() *path {
	p := w.paths[0]
	for _, q := range w.paths[1:] {
		if q.pc == p.pc {
			p.mask |= q.mask
		}
	}
	p.waiting = false
	if p.mask != full {
		w.at = p.pc
		w.missing(&w.code[p.pc], p.mask)
	}
	w.paths = append(w.paths[:0], p)
	return &w.paths[0]
}

func (w *warp) split(i int) {
	p := &w.paths[i]
	part := p.mask & w.random.Uint32()
	if part == 0 || part == p.mask {
		return
	}
	p.mask &^= part
	w.paths = append(w.paths, path{pc: p.pc, reconverge: p.reconverge, mask: part})
}

// run executes the block to its end, or to a fault.
func (b *block) run() *Fault {
	for {
		w, ran := b.next(), 0
		if w == nil {
			if b.over() {
				return nil
			}
			if f := b.release(); f != nil {
				return f
			}
			continue
		}
		if ran = int(^uint(0) >> 1); b.random != nil {
			ran = 1 + b.random.IntN(2*turnLength)
		}
		if w.run(ran); w.fault != nil {
			return w.fault
		}
	}
}

// next returns a warp that can run, or nil.
func (b *block) next() *warp {
	start := 0
	if b.random != nil {
		start = b.random.IntN(len(b.warps))
	}
	for i := range b.warps {
		if w := b.warps[(start+i)%len(b.warps)]; !w.waiting && !w.done() {
			return w
		}
	}
	return nil
}

func (b *block) over() bool {
	for _, w := range b.warps {
		if !w.done() {
			return false
		}
	}
	return true
}

// release continues the warps that all wait for each other; ended warps do not count.
func (b *block) release() *Fault {
	var first *warp
	b.tick()
	for _, w := range b.warps {
		switch {
		case w.done():
			continue
		case first == nil:
			first = w
		case w.barrier != first.barrier:
			w.fail(ErrDeadlock, 0, fmt.Sprintf("at barrier %d, while warp %d is at barrier %d", w.barrier, first.index, first.barrier))
			return w.fault
		}
		w.waiting = false // w.synced may stay: the block's is later
	}
	b.synced = b.clock
	return nil
}
