// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// swapPriority is the priority of a run's swap areas: the highest, so that the kernel uses the
	// device under test, and the mark of the areas that the guard turns off.
	swapPriority = loopsetup.MaxPriority
	// maxAreas is how many areas a device may have, each of a priority lower by one.
	maxAreas = 32
	// guardPatience is how long the guard lets a swapoff take before it ends the
	// connection of the server, which then fails what it does not answer.
	guardPatience = 20 * time.Second
	// swapOffInterval is how long it waits before it tries again: the kernel
	// refuses a second swapoff while one is under way.
	swapOffInterval = 20 * time.Millisecond
)

// The tool's orders to its guard, one a line, and the guard's answers. The end of input without
// orderDismiss means that the tool has died.
const (
	orderConnection = "connection "
	orderDismiss    = "dismiss"
	guardReady      = "ready"
	guardActed      = "acted"
)

// A guard ends a window in which swap is on when the tool cannot, because it died or
// hangs. Its process is locked in memory, has everything open that it needs, and
// touches nothing below a mount.
type guard struct {
	group    string // the load's control group
	settings []setting
	limit    time.Duration
	// connections is the root of a control file system of FUSE, or -1 where the
	// kernel has none.
	connections int
	// connection is the number of the server's, once the tool has told it.
	connection string
}

// playGuard is the guard's process: its arguments are the load's control group, how long to wait,
// and files of the kernel, each with what it has to hold in the end.
func playGuard(args []string, in io.Reader, out io.Writer) error {
	if len(args) < 2 || len(args)%2 != 0 {
		return fmt.Errorf("want GROUP LIMIT [FILE VALUE]..., have %q", args)
	}
	limit, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	g := &guard{group: args[0], limit: limit}
	for pair := range slices.Chunk(args[2:], 2) {
		g.settings = append(g.settings, setting{pair[0], pair[1]})
	}
	if err := g.prepare(); err != nil {
		return err
	}
	fmt.Fprintln(out, guardReady)
	if g.dismissed(in) {
		return nil
	}
	err = g.act()
	fmt.Fprintln(out, guardActed) // best effort: the tool may have died
	return err
}

// prepare locks the process in memory, so that it does not wait for a page from the
// device that it is to end, and rehearses: what has run once is there.
func (g *guard) prepare() error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
		return fmt.Errorf("lock memory: %w", err)
	}
	var err error
	if g.connections, err = openConnections(); err != nil {
		return err
	}
	if err := g.turnOff(); err != nil {
		return fmt.Errorf("rehearse: %w", err)
	}
	if err := loopsetup.SwapOff(os.DevNull); !errors.Is(err, loopsetup.ErrNotSwap) {
		return fmt.Errorf("rehearse: %w", err)
	}
	if err := emptyGroup(g.group + "/rehearsal"); err != nil {
		return fmt.Errorf("rehearse: %w", err)
	}
	if err := g.abort("rehearsal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rehearse: %w", err)
	}
	return nil
}

// openConnections opens the file system that ends FUSE connections, mounted nowhere,
// so that nothing of it stays behind.
func openConnections() (int, error) {
	fd, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOSYS) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("open fusectl: %w", err)
	}
	root := -1
	err = unix.FsconfigCreate(fd)
	if err == nil {
		root, err = unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, 0)
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return -1, fmt.Errorf("mount fusectl: %w", err)
	}
	return root, nil
}

// dismissed follows the tool's orders. It returns true when the tool dismisses the guard, false
// when the guard has to act.
func (g *guard) dismissed(in io.Reader) bool {
	orders := make(chan string)
	go func() {
		defer close(orders)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			orders <- lines.Text()
		}
	}()
	for limit := time.After(g.limit); ; {
		select {
		case order, ok := <-orders:
			if !ok || order == orderDismiss {
				return ok
			}
			if number, is := strings.CutPrefix(order, orderConnection); is {
				g.connection = number
			}
		case <-limit:
			return false
		}
	}
}

// act ends the window. The load goes first: its limit leaves no room for what is
// swapped out. Where swap does not turn off, the server is taken to hang, and its
// connection is ended: what is in swap is lost, but the machine goes on.
func (g *guard) act() error {
	failed := []error{emptyGroup(g.group)}
	first := g.turnOff()
	if first != nil && g.connection != "" {
		failed = append(failed, first, g.abort(g.connection))
		first = g.turnOff()
	}
	return errors.Join(append(failed, first, restore(g.settings), removeGroup(g.group))...)
}

// turnOff turns off the swap of the run, in at most guardPatience. A swapoff that
// hangs is left in its thread.
func (g *guard) turnOff() error {
	done := make(chan error, 1)
	go func() { done <- turnOffAll(time.Now().Add(guardPatience)) }()
	select {
	case err := <-done:
		return err
	case <-time.After(guardPatience + time.Second):
		return fmt.Errorf("swap is still on after %v", guardPatience)
	}
}

// turnOffAll asks the kernel until no area of the run is on.
func turnOffAll(deadline time.Time) error {
	for ; ; time.Sleep(swapOffInterval) {
		areas, err := ownSwap()
		for _, area := range areas {
			err = errors.Join(err, loopsetup.SwapOff(area.Path))
		}
		if err == nil && len(areas) == 0 || time.Now().After(deadline) {
			return err
		}
	}
}

// ownSwap returns the swap areas of the run.
func ownSwap() ([]loopsetup.Swap, error) {
	all, err := loopsetup.Swaps()
	if err != nil {
		return nil, fmt.Errorf("read swap areas: %w", err)
	}
	var own []loopsetup.Swap
	for _, area := range all {
		if area.Priority > swapPriority-maxAreas {
			own = append(own, area)
		}
	}
	return own, nil
}

// abort ends a connection: every request fails, now and later.
func (g *guard) abort(connection string) error {
	if g.connections < 0 {
		return fmt.Errorf("abort connection %s: no fusectl: %w", connection, fs.ErrNotExist)
	}
	fd, err := unix.Openat(g.connections, connection+"/abort", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("abort connection %s: %w", connection, err)
	}
	_, err = unix.Write(fd, []byte("1"))
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("abort connection %s: %w", connection, err)
	}
	return nil
}

// connectionOf returns the number of the FUSE connection that serves the file of a loop device: the
// minor number of that file's file system, which the kernel knows even if the file is unreachable.
func connectionOf(loop string) (string, error) {
	fd, err := unix.Open(loop, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("find connection of %s: %w", loop, err)
	}
	info, err := unix.IoctlLoopGetStatus64(fd)
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return "", fmt.Errorf("find connection of %s: %w", loop, err)
	}
	return strconv.FormatUint(uint64(unix.Minor(info.Device)), 10), nil
}
