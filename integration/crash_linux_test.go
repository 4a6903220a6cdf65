// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// crashKills is how many workers TestCrashOnLoop kills; 0 is what the tests do.
var crashKills = flag.Int("kills", 0, "how many workers to kill under a loop device, at random instants")

// debugVariable and its words are the daemon's.
const (
	debugVariable = "ZRAMFS_DEBUG"
	debugNoResend = "no-resend"
	debugNoPause  = "no-pause"
)

// crashBytes is how much of a device of crashSize is worked on.
const (
	crashSize  = "64M"
	crashBytes = 24 << 20
)

// A crashing is a device whose workers are killed.
type crashing struct {
	t      testing.TB
	dir    string
	keeper int
	last   int // the worker killed last
	kills  int
	gaps   []time.Duration // the longest that a request took around each kill
	rng    *rand.Rand
	began  time.Time
}

func newCrashing(t testing.TB, dir string) *crashing {
	t.Helper()
	return &crashing{t: t, dir: dir, keeper: statusOf(t, dir).KeeperPID, rng: rand.New(rand.NewPCG(require.Seed(t, 1), 1)), began: time.Now()}
}

// worker returns the keeper's child that is not dead, waiting for it.
func (c *crashing) worker() int {
	c.t.Helper()
	for end := time.Now().Add(answerTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range childrenOf(c.keeper) {
			if state, _, err := stateOf(pid); err == nil && state != "Z" && state != "X" && pid != c.last {
				return pid
			}
		}
	}
	c.t.Fatal("the keeper starts no other worker")
	return 0
}

// kill kills the worker, whatever it is doing, and does not wait for the next.
func (c *crashing) kill() {
	c.t.Helper()
	c.last = c.worker()
	if err := unix.Kill(c.last, unix.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	c.kills++
}

// killUnder kills n workers at random instants under a verifying load.
func (c *crashing) killUnder(v *verifying, n int, pause time.Duration) {
	c.t.Helper()
	for range n {
		time.Sleep(pause/10 + time.Duration(c.rng.Int64N(int64(pause))))
		v.ask(c.t, verifyLap)
		c.kill()
		time.Sleep(pause/2 + time.Duration(c.rng.Int64N(int64(pause/2))))
		c.gaps = append(c.gaps, v.ask(c.t, verifyLap).Longest)
		if c.t.Failed() {
			return
		}
	}
}

// settled waits until another worker serves, and checks what the device says.
func (c *crashing) settled() status.Status {
	c.t.Helper()
	s := statusOf(c.t, c.dir)
	if s.Restarts != c.kills || s.KeeperPID != c.keeper || s.WorkerPID == c.last || !s.SurvivesCrash {
		c.t.Errorf("after %d kills, the last of %d, it says %+v", c.kills, c.last, s)
	}
	// Recent are those of ten minutes, 512 at most.
	recent := s.RestartsRecent == c.kills ||
		(time.Since(c.began) > 10*time.Minute || c.kills > 512) && s.RestartsRecent > 0 && s.RestartsRecent < c.kills
	if !recent || s.LastExit != "killed by signal 9" || s.LastRestart == nil || time.Since(*s.LastRestart) > time.Minute {
		c.t.Errorf("after %d kills it says of them: %d recently, the last at %v, %q", c.kills, s.RestartsRecent, s.LastRestart, s.LastExit)
	}
	if s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 {
		c.t.Errorf("errors were counted: %+v", s.IO)
	}
	return s
}

// report says what came of it.
func (c *crashing) report(sum verifyReply) {
	slices.Sort(c.gaps)
	c.t.Logf("kills %d, requests %d, longest gap %v, median gap %v, mismatches %d, errors %d", c.kills, sum.Requests,
		sum.Longest.Round(time.Millisecond/10), c.gaps[len(c.gaps)/2].Round(time.Millisecond/10), sum.Counts[1], sum.Counts[0])
}

// setDebug is what the daemons of this test are told.
func setDebug(t *testing.T, words ...string) { t.Setenv(debugVariable, strings.Join(words, ",")) }

// TestCrashOnLoop kills workers at random instants under a verifying load on a loop
// device: no error, no wrong byte, and nothing grows. `make explore WHAT=crash` does it 200
// times.
func TestCrashOnLoop(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	setDebug(t, debugNoPause)
	first, more, pause := 5, 10, time.Second/2
	if testing.Short() {
		more = 0
	}
	if *crashKills > 0 {
		first, more, pause = 5, max(1, *crashKills-5), time.Second
	}
	dir := mount(t, "--size", crashSize)
	loop := attachments["loopsetup"](t, dir)
	c := newCrashing(t, dir)
	v := startVerifier(t, verifyOrder{Path: loop, Bytes: crashBytes, Threads: 4, Seed: 1})
	c.killUnder(v, first, pause)
	before := usageOf(t, c)
	c.killUnder(v, more, pause)
	after := usageOf(t, c)
	c.report(v.end(t))
	t.Logf("after %d kills %+v, after %d %+v", first, before, c.kills, after)
	if more > 0 {
		after.wantAtMost(t, before)
	}
}

// TestUserNSCrash is the same without privilege, on the data file, with requests
// of any offset and length.
func TestUserNSCrash(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	for name, words := range map[string][]string{"resend": {debugNoPause}, "replay alone": {debugNoPause, debugNoResend}} {
		t.Run(name, func(t *testing.T) {
			setDebug(t, words...)
			dir := mount(t, "--size", crashSize)
			c := newCrashing(t, dir)
			v := startVerifier(t, verifyOrder{Path: data(dir), Bytes: crashBytes, Threads: 4, Seed: 2})
			c.killUnder(v, 5, time.Second/2)
			c.settled()
			c.report(v.end(t))
			c.settled()
		})
	}
}

// usage is what the processes of a device take.
type usage struct {
	KeeperRSS                  uint64 // KiB
	KeeperFiles, KeeperThreads int
	WorkerRSS                  uint64
	WorkerFiles, WorkerThreads int
	Opens, Children            int
}

func usageOf(t testing.TB, c *crashing) usage {
	t.Helper()
	s := c.settled()
	u := usage{Opens: s.Opens, Children: len(childrenOf(c.keeper))}
	u.KeeperRSS, u.KeeperFiles, u.KeeperThreads = processUsage(t, c.keeper)
	u.WorkerRSS, u.WorkerFiles, u.WorkerThreads = processUsage(t, s.WorkerPID)
	return u
}

func processUsage(t testing.TB, pid int) (rss uint64, files, threads int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\nVmRSS:")
	if _, err := fmt.Sscan(after, &rss); err != nil {
		t.Fatal(err)
	}
	_, after, _ = strings.Cut(string(text), "\nThreads:")
	if _, err := fmt.Sscan(after, &threads); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	return rss, len(all), threads
}

// wantAtMost fails for what has grown. A thread more or less, and a little memory,
// is what the Go runtime does by itself.
func (u usage) wantAtMost(t testing.TB, before usage) {
	t.Helper()
	const someThreads, someKiB = 3, 4 << 10
	if u.KeeperFiles > before.KeeperFiles || u.WorkerFiles > before.WorkerFiles || u.Opens != before.Opens || u.Children != 1 ||
		u.KeeperThreads > before.KeeperThreads+someThreads || u.WorkerThreads > before.WorkerThreads+someThreads ||
		u.KeeperRSS > before.KeeperRSS+someKiB || u.WorkerRSS > before.WorkerRSS+2*someKiB {
		t.Errorf("the processes have grown from %+v to %+v", before, u)
	}
}
