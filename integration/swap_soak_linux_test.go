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

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// soakFor is how long TestSwapSoak goes on; 0 is one short window.
var soakFor = flag.Duration("soak", 0, "how long to swap under pressure, in windows of less than a minute")

const (
	// soakWindow is how long the processes of one window work; what it takes to put
	// everything up and down comes on top.
	soakWindow      = 30 * time.Second
	soakShortWindow = 10 * time.Second
	soakProcesses   = 3
	// soakLimit is what the group may keep in memory. The kernel may kill a process there: see
	// package groupstat for what is done about it.
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
	clean, killed := 0, 0
	for began := time.Now(); clean == 0 || time.Since(began) < *soakFor; {
		ok := t.Run(strconv.Itoa(clean+killed+1), func(t *testing.T) {
			if soak(t, window) {
				clean++
			} else {
				killed++
			}
		})
		if killed > 2+clean/4 {
			t.Errorf("the kernel has killed processes in %d windows, and %d were without", killed, clean)
		}
		if !ok || t.Failed() {
			return
		}
	}
	t.Logf("%d windows; in %d more the kernel killed a process for its group's limit", clean, killed)
}

// soak is one window. It returns false if the group's limit has cost a process its
// life; then what the others hold has been checked all the same.
func soak(t *testing.T, window time.Duration) (whole bool) {
	seed := require.Seed(t, 1)
	w := &soakers{rng: rand.New(rand.NewPCG(seed, 1)), group: memoryGroup(t, "soak", soakLimit)}
	total := w.start(t)
	stop := watch(t)
	w.dir = swapDir(t)
	// Before swap goes off, whatever happens: its pages would not fit into the group.
	t.Cleanup(func() { liftLimit(t, w.group) })
	mustRun(t, commandTimeout, "up", "--size", "1G", "--slots", "free", w.dir)
	rounds, err := w.press(t, window)
	s := statusOf(t, w.dir)
	if s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 || s.Restarts != 0 {
		t.Errorf("errors: %+v", s.IO)
	}
	liftLimit(t, w.group)
	mustRun(t, downTimeout, "down", w.dir)
	for _, stuck := range stop() {
		t.Error(stuck)
	}
	err = errors.Join(err, w.toAll(t, func() string { return "walk" }))
	whole = groupKills(t, w.group) == 0
	if err != nil && whole {
		t.Error(err)
	}
	for _, m := range w.clients {
		m.end(t)
	}
	t.Logf("seed %d: %d MiB in %d MiB, %d rounds, %d pages touched; the device read %d pages and wrote %d", seed, total>>20,
		soakLimit>>20, rounds, w.touched, s.IO.Reads, s.IO.Writes)
	return whole
}

// soakers are the processes of one window.
type soakers struct {
	rng        *rand.Rand
	group, dir string
	clients    []*memoryClient // those that live
	touched    int             // pages, by all commands
}

// start starts the processes and returns how many bytes they hold.
func (w *soakers) start(t *testing.T) (total int) {
	for i := range soakProcesses {
		pages := (64<<20 + w.rng.IntN(160<<20)) / memoryPage
		source := realSource(t)
		if i == soakProcesses-1 {
			source = sourceMix
		}
		w.clients = append(w.clients, startMemory(t, memoryOrder{Pages: pages, Source: source, Group: w.group}))
		total += pages * memoryPage
	}
	return total
}

// press lets all of them do this and that for a while, with swap off and on again in
// the middle.
func (w *soakers) press(t *testing.T, window time.Duration) (rounds int, err error) {
	end := time.Now().Add(window)
	middle := time.Now().Add(window / 2)
	err = w.toAll(t, func() string { return "fill" })
	for again := false; err == nil && time.Now().Before(end) && !t.Failed(); rounds++ {
		if !again && time.Now().After(middle) {
			again = true
			w.offAndOn(t)
		}
		commands := []string{"walk", "random", "random", "pageout", "fill"}
		err = w.toAll(t, func() string { return commands[w.rng.IntN(len(commands))] })
	}
	return rounds, err
}

// toAll gives each client a command, all at the same time. Its error is that of clients that have
// died, which it forgets.
func (w *soakers) toAll(t testing.TB, command func() string) error {
	t.Helper()
	replies, errs := make([]memoryReply, len(w.clients)), make([]error, len(w.clients))
	var wg sync.WaitGroup
	for i, m := range w.clients {
		what := command()
		wg.Go(func() {
			if replies[i], errs[i] = m.ask(what); errs[i] != nil {
				errs[i] = fmt.Errorf("process %d: %s: %w", i, what, errs[i])
			}
		})
	}
	wg.Wait()
	var living []*memoryClient
	for i, r := range replies {
		w.touched += r.Pages
		for _, wrong := range r.Wrong {
			t.Errorf("process %d: %s", i, wrong)
		}
		if errs[i] == nil {
			living = append(living, w.clients[i])
		}
	}
	w.clients = living
	return errors.Join(errs...)
}

// offAndOn turns each swap area off, after making room in the group, and on again. It keeps the
// area's loop device open, which otherwise goes with its last user.
func (w *soakers) offAndOn(t testing.TB) {
	t.Helper()
	liftLimit(t, w.group)
	areas, err := swapOn(w.dir)
	if err != nil || len(areas) == 0 {
		t.Fatalf("swap areas: %+v, %v", areas, err)
	}
	for _, area := range areas {
		held, err := os.Open(area.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := loopsetup.SwapOff(area.Path); err != nil {
			t.Fatal(err)
		}
		if err := loopsetup.SwapOn(area.Path, area.Priority, loopsetup.DiscardPages); err != nil {
			t.Fatal(err)
		}
	}
	// A limit is taken once there is room below it.
	h, err := memoryHierarchy()
	if err := errors.Join(err, w.toAll(t, func() string { return "pageout" })); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(groupPatience); ; time.Sleep(50 * time.Millisecond) {
		err := os.WriteFile(limitFile(h, w.group), []byte(strconv.Itoa(soakLimit)), 0)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
