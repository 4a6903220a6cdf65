// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// switchable is the file that takes a processor off the machine, and puts it back.
const switchable = "/sys/devices/system/cpu/cpu1/online"

// setProcessor switches the processor on ("1") or off ("0").
func setProcessor(t testing.TB, state string) {
	t.Helper()
	if err := os.WriteFile(switchable, []byte(state), 0); err != nil {
		t.Fatal(err)
	}
}

// TestProcessorLeavesAndReturns: a processor goes offline and comes back under a verifying load,
// while the worker holds its PM QoS request; with one processor left a worker is killed, so that
// its successor starts on that, and the device is upgraded.
func TestProcessorLeavesAndReturns(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	if _, err := os.Stat(switchable); err != nil {
		t.Skipf("no processor here can be switched off: %v", err)
	}
	dir := mount(t, "--size", crashSize, "--latency", "low")
	c := newCrashing(t, dir)
	v := startVerifier(t, verifyOrder{Path: attachments["loopsetup"](t, dir), Bytes: crashBytes, Threads: 4, Seed: 9})
	t.Cleanup(func() { setProcessor(t, "1") })
	for range 4 {
		setProcessor(t, "0")
		time.Sleep(200 * time.Millisecond)
		setProcessor(t, "1")
		time.Sleep(200 * time.Millisecond)
	}
	setProcessor(t, "0")
	v.ask(t, verifyLap)
	c.kill()
	time.Sleep(200 * time.Millisecond)
	v.ask(t, verifyLap)
	setProcessor(t, "1")
	mustRun(t, commandTimeout, "upgrade", dir)
	sum := v.end(t)
	c.settled()
	t.Logf("requests %d, longest gap %v", sum.Requests, sum.Longest)
}
