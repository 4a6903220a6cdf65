// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/gpu/ptx"
)

const defaultStepLimit = 1 << 24

// Device runs kernels. Set its fields before the first launch; any number of
// goroutines may launch.
type Device struct {
	Memory *Memory
	// Workers is how many blocks run at a time: 0 is one a core.
	Workers int
	// Seed selects the schedule: 0 runs the lanes of a warp in step and warps and blocks one after
	// the other; another number runs all in a random order.
	Seed uint64
	// StepLimit is how many instructions a warp may execute: 0 is 1<<24.
	StepLimit uint64
	// Strict also checks the kernel's claims of uniformity.
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
	stride  int          // from one block to the next that is begun
	next    atomic.Int64 // counts the blocks that were begun
	stop    atomic.Int64 // how many need to be begun: fewer than all once one has faulted
	shadows sync.Map     // *buffer to *shadow

	mu    sync.Mutex // guards the following fields
	stats Stats
	fault *Fault
	first int64 // when its block was begun
}

// Launch runs grid blocks of the kernel and waits for them. The arguments are the kernel's
// parameters in order; block is the number of threads a block, which must be the kernel's. It fails
// with a *Fault if a lane breaks a rule.
func (d *Device) Launch(k *ptx.Kernel, grid, block int, args ...uint64) (Stats, error) {
	return d.LaunchContext(context.Background(), k, grid, block, args...)
}

// LaunchContext is Launch; when ctx ends it stops between blocks.
func (d *Device) LaunchContext(ctx context.Context, k *ptx.Kernel, grid, block int, args ...uint64) (Stats, error) {
	p, err := d.program(k)
	if err != nil {
		return Stats{}, err
	}
	if err := p.accepts(grid, block, args); err != nil {
		return Stats{}, err
	}
	l := &launch{Device: d, ctx: ctx, program: p, args: args, grid: grid}
	l.stride = l.chooseStride()
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

// accepts returns an error if a launch does not fit the kernel.
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
	for range min(workers, l.grid) - 1 {
		group.Go(l.blocks)
	}
	l.blocks()
	group.Wait()
}

// blocks runs blocks until there are none left.
func (l *launch) blocks() {
	b := l.program.rooms.get(l.program)
	b.enter(l)
	for l.ctx.Err() == nil {
		n := l.next.Add(1) - 1
		if n >= l.stop.Load() {
			break
		}
		b.begin(int((n * int64(l.stride)) % int64(l.grid)))
		if f := b.run(); f != nil {
			l.failed(f, n)
		}
	}
	b.leave()
	l.program.rooms.put(b)
}

// failed keeps the fault of the block that was begun first. Those begun before it are under way.
func (l *launch) failed(f *Fault, begun int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil || begun < l.first {
		l.fault, l.first = f, begun
		l.stop.Store(begun)
	}
}

// chooseStride returns the order of the blocks: one by one, or in a random schedule by steps that
// visit each of them once.
func (l *launch) chooseStride() int {
	if l.Seed == 0 {
		return 1
	}
	random := l.source(-1)
	for {
		if s := 1 + random.IntN(l.grid); gcd(s, l.grid) == 1 {
			return s
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// source returns the random numbers of a block, which do not depend on the number of workers.
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
