// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"testing"
)

// Both commands say so, and succeed, where there is nothing to do.
func TestSwapUpAndDownTwice(t *testing.T) {
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", "--priority", "5", "--discard", "both", dir)
	before := oneSwap(t, dir)
	pid := statusOf(t, dir).PID
	again := mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	if want := dir + " is up already: 64M of swap at " + before.Path + ", priority 5\n"; again.Stdout != want || again.Stderr != "" {
		t.Errorf("the second up says %q, %q, want %q", again.Stdout, again.Stderr, want)
	}
	other := run(t, commandTimeout, "up", "--size", "128M", "--priority", "7", dir)
	want := "zramfs: " + dir + " is up with 64M, priority 5; you asked for 128M, priority 7. To change it: zramfs down " + dir + ", then up\n"
	if other.Code != 1 || other.Stdout != "" || other.Stderr != want {
		t.Errorf("up with other values: exit code %d, %q, %q, want %q", other.Code, other.Stdout, other.Stderr, want)
	}
	after := oneSwap(t, dir)
	if after.Used = before.Used; after != before || before.Priority != 5 {
		t.Errorf("swap was %+v and is %+v", before, after)
	}
	if now := statusOf(t, dir); now.PID != pid || now.Disksize != 64<<20 {
		t.Errorf("another device serves: %+v", now)
	}

	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	wantNoDevice(t, dir)
}

// The pages in swap have to fit into memory before down turns it off. The test does not fill the
// machine's memory: it covers /proc/meminfo by a file with less, as lxcfs does for containers. The
// arithmetic at the border is tested in internal/command.
func TestSwapDownRefusesWhatDoesNotFit(t *testing.T) {
	meminfo := filepath.Join(tempDir(t), "meminfo")
	if err := os.WriteFile(meminfo, []byte("MemTotal: 65536 kB\nMemFree: 1024 kB\nMemAvailable: 20480 kB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := startMemory(t, memoryOrder{Pages: 32 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "1G", "--devices", "1", dir)
	m.do(t, "pageout")
	before := oneSwap(t, dir)

	r := runConfined(t, confinement{Cover: map[string]string{"/proc/meminfo": meminfo}}, "down", dir)
	wantRefusal(t, r, "does not fit into memory", "in swap", "20M of memory available", "--force")
	if after := oneSwap(t, dir); after.Path != before.Path {
		t.Errorf("swap was %+v and is %+v", before, after)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	m.do(t, "walk")
}
