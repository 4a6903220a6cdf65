// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/loopsetup"
)

// The settings of the kernel that a window changes.
const (
	// pageCluster holds how much the kernel reads ahead from swap: two to the power of
	// it pages (Documentation/admin-guide/sysctl/vm.rst).
	pageCluster = "/proc/sys/vm/page-cluster"
	// zswapParameters are set by "zramfs up --zswap".
	zswapParameters = "/sys/module/zswap/parameters/*"
)

var errOtherSwap = errors.New("other swap is on")

// A subject is a swap device that is measured. All fields are immutable.
type subject struct {
	name string
	// up makes it, with swap on at swapPriority, and returns it. The steps to undo that go to made.
	up func(made *cleanup) (*device, error)
}

// subjects returns what the options ask for: the contestants, then the anchor.
func subjects(opts options) []subject {
	var all []subject
	for _, one := range opts.contestants {
		all = append(all, subject{
			name: one.name,
			up:   func(made *cleanup) (*device, error) { return upZramfs(opts, one, made) },
		})
	}
	if opts.anchor == zramName {
		all = append(all, subject{
			name: zramName,
			up:   func(made *cleanup) (*device, error) { return upZram(opts, made) },
		})
	}
	return all
}

// upZramfs lets zramfs do what it does for a user.
func upZramfs(opts options, one contestant, made *cleanup) (*device, error) {
	dir, err := one.place(made)
	if err != nil {
		return nil, err
	}
	made.add(func() error { return downZramfs(one, dir) }) // before the start, which may be killed
	begun := time.Now()
	if err := one.start(opts, dir, "up", "--priority", strconv.Itoa(swapPriority), "--discard", string(loopsetup.DiscardPages)); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	what, err := one.describe(dir)
	if err != nil {
		return nil, err
	}
	areas, err := ownSwap()
	if err != nil {
		return nil, err
	}
	if len(areas) == 0 {
		return nil, fmt.Errorf("up %s: no swap of priority %d is on", dir, swapPriority)
	}
	return &device{name: one.name, what: what, path: areas[0].Path, mmStat: filepath.Join(dir, mmStat), took: took, server: one.program()}, nil
}

// downZramfs takes down what upZramfs made, if it did. Force comes last: programs of others
// may have been swapped out there, and zramfs refuses where the limit of their control
// group has no room for them.
func downZramfs(one contestant, dir string) error {
	err := retry(func() error {
		_, err := command(one.binary, "down", dir)
		if _, gone := os.Lstat(dir); errors.Is(gone, os.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		_, forced := command(one.binary, "down", "--force", dir)
		err = errors.Join(err, forced)
	}
	return err
}

// upZram makes swap of a kernel zram device, with the same priority and discards.
func upZram(opts options, made *cleanup) (*device, error) {
	begun := time.Now()
	zram, err := addZram(opts.size, made)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(zram.path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("make swap of kernel zram: %w", err)
	}
	_, err = loopsetup.FormatSwap(file, uint64(opts.size), "zramfs-bench")
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if err := retry(func() error { return loopsetup.SwapOn(zram.path, swapPriority, loopsetup.DiscardPages) }); err != nil {
		return nil, err
	}
	zram.took = time.Since(begun)
	made.add(func() error {
		if err := loopsetup.SwapOff(zram.path); !errors.Is(err, loopsetup.ErrNotSwap) {
			return err
		}
		return nil
	})
	return zram, nil
}

// refuseOtherSwap is an error while any swap is on, since pages would go there too or come from
// there, and while zswap is on, which would be in front of every device.
func refuseOtherSwap() error {
	areas, err := loopsetup.Swaps()
	if err != nil {
		return fmt.Errorf("read swap areas: %w", err)
	}
	if len(areas) > 0 {
		return fmt.Errorf("%w: %s (swapoff %[2]s)", errOtherSwap, areas[0].Path)
	}
	if zswap.Running(host.Local) {
		return fmt.Errorf("%w: zswap (echo N > %s)", errOtherSwap, zswap.Enabled)
	}
	return nil
}

// A setting is a file of the kernel with what it has to hold in the end.
type setting struct{ path, value string }

// keepSettings returns the settings as they are now. made restores them.
func keepSettings(made *cleanup) (settings []setting, err error) {
	parameters, err := filepath.Glob(zswapParameters) // none in a kernel without zswap
	if err != nil {
		return nil, err
	}
	for _, path := range append(parameters, pageCluster) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read setting: %w", err)
		}
		settings = append(settings, setting{path, strings.TrimSpace(string(text))})
	}
	made.add(func() error { return restore(settings) })
	return settings, nil
}

// restore gives settings that have changed their values again.
func restore(settings []setting) error {
	var failed []error
	for _, one := range settings {
		now, err := os.ReadFile(one.path)
		if err == nil && strings.TrimSpace(string(now)) != one.value {
			err = os.WriteFile(one.path, []byte(one.value), 0)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("restore setting: %w", err))
		}
	}
	return errors.Join(failed...)
}

// window measures one subject once with a value of vm.page-cluster: all that it makes, swap first
// of all, is gone when it returns.
func (b *swapBenchmark) window(ctx context.Context, one subject, cluster, seed int) (figure swapFigure, err error) {
	var made cleanup
	defer func() { err = errors.Join(err, made.undo()) }()
	if err := refuseOtherSwap(); err != nil {
		return swapFigure{}, err
	}
	group, err := makeGroup("zramfs-bench-"+strconv.Itoa(os.Getpid()), b.opts.limit, &made)
	if err != nil {
		return swapFigure{}, err
	}
	settings, err := keepSettings(&made)
	if err != nil {
		return swapFigure{}, err
	}
	guard, err := startGuard(group, b.opts.window, settings)
	if err != nil {
		return swapFigure{}, err
	}
	made.add(guard.dismiss)
	if err := os.WriteFile(pageCluster, []byte(strconv.Itoa(cluster)), 0); err != nil {
		return swapFigure{}, fmt.Errorf("set vm.page-cluster: %w", err)
	}
	idle := host.Local.ZswapUse().Memory()
	device, err := one.up(&made)
	if err != nil {
		return swapFigure{}, err
	}
	if err := guard.watch(device.path); err != nil {
		return swapFigure{}, err
	}
	b.what[one.name] = device.what
	load, err := startLoad(ctx, group, b.shared, loadOrder{b.opts.workload, b.opts.filled(), b.opts.touches, seed, b.opts.loadCPU})
	if err != nil {
		return swapFigure{}, err
	}
	made.add(load.end)
	return b.phases(ctx, load, device, idle)
}

// watch tells the guard which connection serves a device, where one does.
func (g *guardProcess) watch(path string) error {
	if !strings.HasPrefix(path, "/dev/loop") {
		return nil
	}
	connection, err := connectionOf(path)
	if err != nil {
		return err
	}
	return g.tell(orderConnection + connection)
}

// phases runs the load, and counts the machine's work during it. idle is what zswap took before.
func (b *swapBenchmark) phases(ctx context.Context, load *loadProcess, device *device, idle uint64) (swapFigure, error) {
	all := party{load: load.cmd.Process.Pid, server: device.server}
	var done [3]phase
	var memory *memoryUse
	for i, order := range [...]string{orderFill, orderWalk, orderTouch} {
		before, err := readTally(all)
		if err != nil {
			return swapFigure{}, err
		}
		done[i].result, err = load.do(order)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return swapFigure{}, fmt.Errorf("%s: %w", device.name, err)
		}
		after, err := readTally(all)
		if err != nil {
			return swapFigure{}, err
		}
		done[i].cpu = after.census.since(before.census)
		done[i].out, done[i].in = after.out-before.out, after.in-before.in
		done[i].loads = after.zswap.Loads - before.zswap.Loads
		done[i].writtenBack = after.zswap.WrittenBack - before.zswap.WrittenBack
		taken, err := all.takenMemory(device, b.opts.size)
		if err != nil {
			return swapFigure{}, err
		}
		now := after.zswap.Memory()
		done[i].zswap = now - min(now, idle)
		done[i].memory = taken + done[i].zswap
		if order == orderFill {
			if memory, err = readMemory(device); err != nil {
				return swapFigure{}, err
			}
		}
	}
	return newSwapFigure(done[0], done[1], done[2], memory)
}
