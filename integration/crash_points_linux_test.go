// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// killVariable is package killpoint's.
const killVariable = "ZRAMFS_KILL_AT"

// takeoverPoints are the points that a worker meets once or now and then, and
// killPoints those that it meets as often as a device is written, read and
// discarded: of requests, and of the store.
var takeoverPoints = []string{
	"request found", "found request answered", "requests finished", "index adopted", "unused segments given back",
	"segment taken",
}

var killPoints = []string{
	"request read", "request carried out", "request applied", "request answered",
	"other request carried out", "other request counted",
	"room found", "object begun", "object without checksum",
	"entry to be published", "entry published",
	"object to be cleared", "object cleared but for its header", "object cleared",
	"dead object to be swept", "segment's end swept",
}

// TestEveryKillPoint kills the real worker at each point, under verifying loads on
// the data file and on a loop device on it.
func TestEveryKillPoint(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	if os.Getenv(apartVariable) == "" {
		runWithPoints(t)
		return
	}
	setDebug(t, debugNoPause)
	file := filepath.Join(tempDir(t), "at")
	t.Setenv(killVariable, file)
	dir := mount(t, "--size", crashSize)
	loop := attachments["loopsetup"](t, dir)
	c := newCrashing(t, dir)
	loads := []*verifying{
		startVerifier(t, verifyOrder{Path: data(dir), Bytes: crashBytes, Threads: 2, Seed: 4}),
		startVerifier(t, verifyOrder{Path: loop, From: crashBytes, Bytes: crashBytes, Threads: 2, Seed: 5}),
	}
	dieAt := func(point string, nth int) {
		c.dieAt(file, point, nth)
		c.settled() // lest a request be taken for what kills all who carry it out
		for _, v := range loads {
			v.ask(t, verifyLap)
		}
	}
	for _, point := range takeoverPoints {
		dieAt(point, 1)
	}
	for _, point := range killPoints {
		dieAt(point, 1)
		if !testing.Short() {
			dieAt(point, 40)
		}
	}
	for _, v := range loads {
		sum := v.end(t)
		t.Logf("kills %d, requests %d, longest gap %v, mismatches %d, errors %d", c.kills, sum.Requests,
			sum.Longest.Round(time.Millisecond/10), sum.Counts[1], sum.Counts[0])
	}
}

// dieAt kills a worker so that its successor dies at a point.
func (c *crashing) dieAt(file, point string, nth int) {
	c.t.Helper()
	if err := os.WriteFile(file, fmt.Appendf(nil, "%d %s", nth, point), 0o600); err != nil {
		c.t.Fatal(err)
	}
	for range 20 {
		c.kill()
		doomed := c.worker()
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
				c.kills++
				c.awaitDeath(doomed)
				return
			}
			_, _ = readStatus(c.dir) // other requests
		}
	}
	c.t.Errorf("no worker has come to the point %q", point)
}

// awaitDeath waits a moment for the end of a process, which may have been mistaken for the one to
// die because it started right after that.
func (c *crashing) awaitDeath(pid int) {
	for range 20 {
		if state, _, err := stateOf(pid); err != nil || state == "Z" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestWorkerDiesWhileItIsMounted kills the first worker at requests that come with the mount and
// with the first access, which the keeper itself waits for: another worker answers, and the device
// starts.
func TestWorkerDiesWhileItIsMounted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if os.Getenv(apartVariable) == "" {
		runWithPoints(t)
		return
	}
	for nth := 3; nth < 6; nth++ { // the first two negotiate
		dieAtOther(t, nth)
		dir := mount(t, "--size", crashSize)
		if s := statusOf(t, dir); s.Restarts != 1 {
			t.Errorf("at request %d: it says %+v", nth, s)
		}
	}
}

// runWithPoints runs the calling test apart on a program that has the points.
func runWithPoints(t *testing.T) {
	t.Helper()
	program, err := builtPoints()
	if err != nil {
		t.Fatal(err)
	}
	runApartOn(t, nil, program)
}

// dieAtOther has the first worker of the next device die at the given other request.
func dieAtOther(t *testing.T, nth int) {
	t.Helper()
	file := filepath.Join(tempDir(t), "at")
	t.Setenv(killVariable, file)
	if err := os.WriteFile(file, fmt.Appendf(nil, "%d other request carried out", nth), 0o600); err != nil {
		t.Fatal(err)
	}
}
