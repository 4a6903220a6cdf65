// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// holdCommand is "hold MIB": it writes pages as fill does. For each SIGUSR1 it reads all of them in
// a random order, and writes each again, with other words. It prints how many were as they were
// written last, were not, and could not be read, and how many pages of the machine came from zswap
// and from swap devices in that time. Only these pages of the process can be swapped.
func holdCommand(args []string) error {
	var mib int
	if _, err := fmt.Sscan(strings.Join(args, " "), &mib); err != nil {
		return fmt.Errorf("size %q: %w", args, err)
	}
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return err
	}
	walks := make(chan os.Signal, 1)
	signal.Notify(walks, unix.SIGUSR1)
	memory, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := unix.Munlock(memory); err != nil {
		return err
	}
	w := work{memory: memory, share: 0.3}
	for i := range w.pages() {
		w.write(i)
	}
	fmt.Println("written")
	debug.SetPanicOnFault(true)
	for range walks {
		next := w
		next.seed++
		var right, wrong, lost int
		zswap, device := faults()
		for _, i := range rand.New(rand.NewPCG(w.seed, 0)).Perm(w.pages()) {
			switch same, err := w.try(i); {
			case err != nil:
				lost++
				continue
			case same:
				right++
			default:
				wrong++
			}
			next.write(i)
		}
		w = next
		zswapped, swapped := faults()
		fmt.Printf("%d right, %d wrong, %d lost; %d from zswap, %d from devices\n", right, wrong, lost, zswapped-zswap, swapped-device)
	}
	return nil
}

// try is same for a page that may be lost: the kernel sends SIGBUS then.
func (w *work) try(index int) (same bool, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("page %d: %v", index, fault)
		}
	}()
	return w.same(index), nil
}

// faults returns how many pages zswap and swap devices have given back since the machine booted.
func faults() (zswap, device int) {
	file, err := os.Open("/proc/vmstat")
	if err != nil {
		return 0, 0 // it shows in what is printed
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var name string
		var n int
		_, _ = fmt.Sscan(lines.Text(), &name, &n)
		switch name {
		case "zswpin":
			zswap = n
		case "pswpin":
			device = n
		}
	}
	return zswap, device
}
