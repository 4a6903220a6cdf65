// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"zramfs/gpu/ptx"
)

const defaultStepLimit = 1 << 24

// Device runs kernels. Set its fields before the first launch; any number of
// goroutines may launch.
type Device struct {
	Memory *Memory
	// Workers is how many blocks run at a time: 0 is one a core.
	Workers int
	// Seed chooses a schedule: 0 runs the lanes of a warp in step and one warp
	// after the other, any other number a random order of both.
	Seed uint64
	// StepLimit is how many instructions a warp may execute: 0 is 1<<24.
	StepLimit uint64
	// Strict checks also that what the kernel calls uniform is the same in all lanes.
	Strict bool

	programs sync.Map // *ptx.Kernel to *program
}

// launch is one launch under way.
type launch struct {
	*Device
	ctx     context.Context
	program *program
	args    []uint64
	grid    int
	next    atomic.Int64 // block to run
	stop    atomic.Int64 // blocks from here on need not run: one before them has faulted
	shadows sync.Map     // *buffer to *shadow

	mu    sync.Mutex // guards what follows
	stats Stats
	fault *Fault
}

// Launch runs grid blocks of the kernel and waits for them. The arguments are
// the kernel's parameters in order; block is the threads a block, which the kernel fixes.
// It fails with a *Fault if a lane does what a kernel must not.
func (d *Device) Launch(k *ptx.Kernel, grid, block int, args ...uint64) (Stats, error) {
	return d.LaunchContext(context.Background(), k, grid, block, args...)
}

// LaunchContext is Launch, and ends between blocks when ctx does.
func (d *Device) LaunchContext(ctx context.Context, k *ptx.Kernel, grid, block int, args ...uint64) (Stats, error) {
	p, err := d.program(k)
	if err != nil {
		return Stats{}, err
	}
	if err := p.accepts(grid, block, args); err != nil {
		return Stats{}, err
	}
	l := &launch{Device: d, ctx: ctx, program: p, args: args, grid: grid}
	l.stop.Store(int64(grid))
	l.work()
	l.shadows.Range(func(_, s any) bool { s.(*shadow).release(); return true })
	switch {
	case l.fault != nil:
		return l.stats, l.fault
	default:
		return l.stats, ctx.Err()
	}
}

// program compiles a kernel once.
func (d *Device) program(k *ptx.Kernel) (*program, error) {
	if p, ok := d.programs.Load(k); ok {
		return p.(*program), nil
	}
	p, err := compile(k)
	if err != nil {
		return nil, err
	}
	d.programs.Store(k, p)
	return p, nil
}

// accepts tells whether a launch fits the kernel.
func (p *program) accepts(grid, block int, args []uint64) error {
	name := p.kernel.Name()
	switch {
	case grid <= 0 || grid > mostBlocks:
		return fmt.Errorf("%w: %s: %d blocks", ErrBadLaunch, name, grid)
	case block != p.kernel.Threads() || block%WarpSize != 0 || block <= 0 || block > ptx.MaxThreads:
		return fmt.Errorf("%w: %s: %d threads a block, want %d", ErrBadLaunch, name, block, p.kernel.Threads())
	case len(args) != len(p.params):
		return fmt.Errorf("%w: %s: %d arguments, want %d", ErrBadLaunch, name, len(args), len(p.params))
	}
	for i, a := range args {
		if p.params[i].Type.Bits() == 32 && a>>32 != 0 {
			return fmt.Errorf("%w: %s: argument %s is %#x, which has more than 32 bits", ErrBadLaunch, name, p.params[i].Name, a)
		}
	}
	return nil
}

func (l *launch) work() {
	workers := l.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var group sync.WaitGroup
	for range min(workers, l.grid) {
		group.Go(l.blocks)
	}
	group.Wait()
}

// blocks runs blocks until there are none left.
func (l *launch) blocks() {
	b := l.program.rooms.Get().(*block)
	b.enter(l)
	for l.ctx.Err() == nil {
		n := l.next.Add(1) - 1
		if n >= l.stop.Load() {
			break
		}
		b.begin(int(n))
		if f := b.run(); f != nil {
			l.failed(f)
		}
	}
	b.leave()
	l.program.rooms.Put(b)
}

// failed keeps the fault of the lowest block. Those before it are under way.
func (l *launch) failed(f *Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil || f.Block < l.fault.Block {
		l.fault = f
		l.stop.Store(int64(f.Block))
	}
}

// source makes the random numbers of a block, the same ones however many workers there are.
func (l *launch) source(block int) *rand.Rand {
	if l.Seed == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(l.Seed, uint64(block)))
}

func (l *launch) shadowOf(b *buffer, c *contents) *shadow {
	if s, ok := l.shadows.Load(b); ok {
		return s.(*shadow)
	}
	s, _ := l.shadows.LoadOrStore(b, newShadow(len(c.data)))
	return s.(*shadow)
}
