// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"zramfs/loopsetup"
)

// soakFor is how long TestSwapSoak goes on; 0 is one short window.
var soakFor = flag.Duration("soak", 0, "how long to swap under pressure, in windows of less than a minute")

const (
	// soakWindow is how long the processes of one window work; what it takes to put
	// everything up and down comes on top.
	soakWindow      = 30 * time.Second
	soakShortWindow = 10 * time.Second
	soakProcesses   = 3
	// soakLimit: where several processes thrash in less, the limit of a group of
	// cgroup v1 now and then kills one (3 of 9 windows at 96 MiB, 1 of 17 at 192).
	// That is the kernel's: swap on a plain loop device over tmpfs, without any of
	// ours, ends so too (1 of 7 windows at 96 MiB).
	soakLimit = 256 << 20
)

// TestSwapSoak lets several processes of random sizes, in a group that has room
// for a part of them, write and check their memory, turns swap off and on again in
// the middle, and finds no wrong byte, and no task of the machine that is stuck.
func TestSwapSoak(t *testing.T) {
	window := soakShortWindow
	if *soakFor > 0 {
		window = soakWindow
	}
	for began, n := time.Now(), 1; n == 1 || time.Since(began) < *soakFor; n++ {
		if !t.Run(strconv.Itoa(n), func(t *testing.T) { soak(t, window) }) {
			return
		}
	}
}

// soak is one window.
func soak(t *testing.T, window time.Duration) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	group := memoryGroup(t, "soak", soakLimit)
	var all []*memoryClient
	total := 0
	for i := range soakProcesses {
		pages := (64<<20 + rng.IntN(160<<20)) / memoryPage
		source := realSource(t)
		if i == soakProcesses-1 {
			source = sourceMix
		}
		all = append(all, startMemory(t, memoryOrder{Pages: pages, Source: source, Group: group}))
		total += pages * memoryPage
	}
	stop := watch(t)
	dir := swapDir(t)
	// Before swap goes off, whatever happens: its pages would not fit into the group.
	t.Cleanup(func() { liftLimit(t, group) })
	mustRun(t, commandTimeout, "up", "--size", "1G", dir)
	end := time.Now().Add(window)
	sum := toAll(t, all, func(int) string { return "fill" })
	rounds, middle := 1, time.Now().Add(time.Until(end)/2)
	for again := false; time.Now().Before(end) && !t.Failed(); rounds++ {
		if !again && time.Now().After(middle) {
			again = true
			offAndOn(t, all, dir, group)
		}
		commands := []string{"walk", "random", "random", "pageout", "fill"}
		sum += toAll(t, all, func(int) string { return commands[rng.IntN(len(commands))] })
	}
	s := status(t, dir)
	if s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 || s.Restarts != 0 {
		t.Errorf("errors: %+v", s.IO)
	}
	liftLimit(t, group)
	mustRun(t, downTimeout, "down", dir)
	for _, stuck := range stop() {
		t.Error(stuck)
	}
	toAll(t, all, func(int) string { return "walk" })
	for _, m := range all {
		m.end(t)
	}
	t.Logf("seed %d: %d MiB in %d MiB, %d rounds, %d pages touched; the device read %d pages and wrote %d", seed, total>>20,
		soakLimit>>20, rounds, sum, s.IO.Reads, s.IO.Writes)
}

// toAll gives each client a command, all at the same time, and returns how many
// pages they touched.
func toAll(t testing.TB, all []*memoryClient, command func(i int) string) (touched int) {
	t.Helper()
	replies, errs := make([]memoryReply, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for i, m := range all {
		what := command(i)
		wg.Go(func() {
			if replies[i], errs[i] = m.ask(what); errs[i] != nil {
				errs[i] = fmt.Errorf("process %d: %s: %w", i, what, errs[i])
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		touched += r.Pages
		for _, wrong := range r.Wrong {
			t.Errorf("process %d: %s", i, wrong)
		}
	}
	return touched
}

// offAndOn turns swap off, for which the group gets room, and on again. The loop
// device is held meanwhile: it goes with its last user.
func offAndOn(t testing.TB, all []*memoryClient, dir, group string) {
	t.Helper()
	area := oneSwap(t, dir)
	held, err := os.Open(area.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	liftLimit(t, group)
	if err := loopsetup.SwapOff(area.Path); err != nil {
		t.Fatal(err)
	}
	if err := loopsetup.SwapOn(area.Path, area.Priority, loopsetup.DiscardPages); err != nil {
		t.Fatal(err)
	}
	// A limit is taken once there is room below it.
	toAll(t, all, func(int) string { return "pageout" })
	h, err := memoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(groupPatience); ; time.Sleep(50 * time.Millisecond) {
		err := os.WriteFile(limitFile(h, group), []byte(strconv.Itoa(soakLimit)), 0)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
