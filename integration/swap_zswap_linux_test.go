// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zswap"
)

const zswapParameters = "/sys/module/zswap/parameters/"

// needZswap skips a test where zswap cannot be a tier. When the test ends, the parameters are as
// they were.
func needZswap(t *testing.T) {
	t.Helper()
	require.Root(t)
	if err := zswap.Unfit(host.Local); err != nil {
		t.Skip(err)
	}
	if zswap.Running(host.Local) {
		t.Skip("zswap is on")
	}
	names := []string{"enabled", "compressor", "max_pool_percent", "accept_threshold_percent", "shrinker_enabled"}
	before := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(zswapParameters + name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = text
	}
	t.Cleanup(func() {
		for _, name := range names {
			if err := os.WriteFile(zswapParameters+name, before[name], 0); err != nil {
				t.Error(err)
			}
		}
	})
}

// wantZswap wants zswap to be on with this limit, or off for an empty one.
func wantZswap(t *testing.T, limit string) {
	t.Helper()
	text, err := os.ReadFile(zswapParameters + "max_pool_percent")
	if on := zswap.Running(host.Local); err != nil || on != (limit != "") || on && strings.TrimSpace(string(text)) != limit {
		t.Errorf("zswap is on: %t, with %s %% of RAM, %v; want %q", on, text, err, limit)
	}
}

// zswap keeps what programs swap out, and the device what it writes back: both are the same pages
// when they are read, also after the worker has died, and each is counted.
func TestSwapZswap(t *testing.T) {
	needZswap(t)
	dir := swapDir(t)
	before := kernelParameters(t)
	m := startMemory(t, memoryOrder{Pages: 96 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	up := mustRun(t, commandTimeout, "up", "--size", "256M", "--slots", "keep", "--zswap", "1%", dir)
	if !regexp.MustCompile(`(?m)^  zswap    keeps hot pages, up to 1% of RAM, by [a-z0-9-]+; so it does for other swap devices$`).MatchString(up.Stdout) {
		t.Errorf("up prints %q", up.Stdout)
	}
	wantZswap(t, "1")
	start := host.Local.ZswapUse()
	swapped := m.do(t, "pageout").Swapped
	use := host.Local.ZswapUse()
	if use.Stores == start.Stores || use.Held == 0 || use.Pool == 0 || use.Pool > use.Held {
		t.Errorf("of %d bytes zswap has taken %+v", swapped, use)
	}
	words := mustRun(t, commandTimeout, "status", dir).Stdout
	if !regexp.MustCompile(`(?m)^  zswap          [0-9.]+[KM] for [0-9.]+[KM], ratio [0-9.]+; since boot [0-9,]+ faults answered, [0-9,]+ pages written back$`).MatchString(words) ||
		regexp.MustCompile(`freed by programs`).MatchString(words) {
		t.Errorf("status prints %q", words)
	}
	wantTiers(t, dir)
	m.do(t, "walk")
	if now := host.Local.ZswapUse(); now.Loads == use.Loads {
		t.Errorf("no fault was answered by zswap: %+v", now)
	}
	m.do(t, "pageout")
	if err := unix.Kill(statusOf(t, dir).WorkerPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.do(t, "walk")
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	wantParameters(t, before)
}

// wantTiers wants zswap to hold a part of the pages in the only swap of the machine, and figures
// of both tiers that add up to what is in swap.
func wantTiers(t *testing.T, dir string) {
	t.Helper()
	var all struct {
		Zramfs []struct {
			Usage  swapdev.Usage
			Memory swapdev.Memory
			Status status.Status
		}
	}
	text := mustRun(t, commandTimeout, "status", "-J", dir).Stdout
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Zramfs) != 1 {
		t.Fatalf("status -J: %v\n%s", err, text)
	}
	u, m, stored := all.Zramfs[0].Usage, all.Zramfs[0].Memory, all.Zramfs[0].Status.Memory.OrigDataSize
	const slack = 1 << 20 // headers of areas, and what moved between the reads
	if u.InZswap == 0 || u.InZswap+stored > u.InSwap+u.Copies+slack || m.Zswap == 0 || m.Zswap > u.InZswap ||
		u.Saved != int64(u.InSwap)-int64(m.Store+m.Processes+m.Slots+m.Zswap) || u.Freed > slack {
		t.Errorf("%+v, %+v, %d stored", u, m, stored)
	}
}

// With two devices the first that ends leaves zswap on, and the second restores it.
func TestSwapZswapTwoDevices(t *testing.T) {
	needZswap(t)
	dirs := [2]string{swapDir(t), swapDir(t)}
	before := kernelParameters(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", "--zswap", "2%", dirs[0])
	mustRun(t, commandTimeout, "up", "--size", "64M", "--zswap", "auto", "--priority", "200", dirs[1])
	mustRun(t, downTimeout, "down", dirs[0])
	wantZswap(t, "30")
	mustRun(t, downTimeout, "down", dirs[1])
	wantParameters(t, before)
}

// An up that is killed, and a keeper that is, leave the parameters to the next command; swapoff to
// the keeper.
func TestSwapZswapIsRestored(t *testing.T) {
	needZswap(t)
	for name, end := range map[string]func(t *testing.T, dir string){
		"up is killed": func(t *testing.T, dir string) {
			cmd := command(t, "up", "-v", "--size", "64M", "--zswap", "on", dir)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "swap "); {
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // it was killed, or has ended in time
			mustRun(t, downTimeout, "down", dir)
		},
		"the keeper is killed": func(t *testing.T, dir string) {
			mustRun(t, commandTimeout, "up", "--size", "64M", "--zswap", "on", dir)
			if err := unix.Kill(statusOf(t, dir).KeeperPID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			mustRun(t, downTimeout, "down", dir)
			// The process that would have removed it is gone.
			if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		},
		"swapoff": func(t *testing.T, dir string) {
			mustRun(t, commandTimeout, "up", "--size", "64M", "--devices", "1", "--zswap", "on", dir)
			wantZswap(t, "30")
			on, err := swapOn(dir)
			if err != nil || len(on) != 1 {
				t.Fatalf("%+v, %v", on, err)
			}
			keeper := statusOf(t, dir).KeeperPID
			system(t, toolTimeout, "swapoff", on[0].Path)
			if !waitEnd(keeper, answerTimeout) {
				t.Errorf("the keeper lives on")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := swapDir(t)
			before := kernelParameters(t)
			end(t, dir)
			wantNothingLeft(t, dir)
			wantParameters(t, before)
		})
	}
}

// set turns zswap on and off in front of a device in use, and down restores what was before up.
func TestSwapZswapIsSet(t *testing.T) {
	needZswap(t)
	dir := swapDir(t)
	before := kernelParameters(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", "--slots", "keep", "--zswap", "off", dir)
	for _, step := range []struct{ value, limit string }{{"2%", "2"}, {"on", "30"}, {"off", ""}, {"auto", "30"}} {
		mustRun(t, commandTimeout, "set", dir, "zswap="+step.value)
		wantZswap(t, step.limit)
		if list := mustRun(t, commandTimeout, "set", dir).Stdout; !strings.Contains(list, "zswap      "+step.value+" ") {
			t.Errorf("set prints %q after zswap=%s", list, step.value)
		}
	}
	if r := run(t, commandTimeout, "set", dir, "zswap=200%"); r.Code != 2 {
		t.Errorf("zswap=200%% ends with %d: %s", r.Code, r.Stderr)
	}
	wantZswap(t, "30")
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	wantParameters(t, before)
}

// up leaves zswap as an administrator has it.
func TestSwapZswapOfAnAdministrator(t *testing.T) {
	needZswap(t)
	for _, parameter := range [][2]string{{"max_pool_percent", "7"}, {"enabled", "Y"}} {
		if err := os.WriteFile(zswapParameters+parameter[0], []byte(parameter[1]), 0); err != nil {
			t.Fatal(err)
		}
	}
	dir := swapDir(t)
	before := kernelParameters(t)
	up := mustRun(t, commandTimeout, "up", "--size", "64M", "--zswap", "auto", dir)
	if !strings.Contains(up.Stdout, "zswap    keeps hot pages, up to 7% of RAM") {
		t.Errorf("up prints %q", up.Stdout)
	}
	wantZswap(t, "7")
	mustRun(t, downTimeout, "down", dir)
	wantParameters(t, before)
}
