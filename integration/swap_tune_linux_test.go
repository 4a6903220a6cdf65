// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/tune"
)

// kernelParameters returns the kernel parameters that up may set, in one line.
func kernelParameters(t *testing.T) string {
	t.Helper()
	var values []string
	for _, path := range []string{"/proc/sys/vm/page-cluster", "/proc/sys/vm/swappiness", "/proc/sys/vm/watermark_scale_factor",
		"/proc/sys/vm/watermark_boost_factor", "/sys/module/haltpoll/parameters/guest_halt_poll_ns",
		"/sys/module/workqueue/parameters/default_affinity_scope", zswapParameters + "enabled", zswapParameters + "compressor",
		zswapParameters + "max_pool_percent", zswapParameters + "accept_threshold_percent", zswapParameters + "shrinker_enabled"} {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		values = append(values, strings.TrimSpace(string(text)))
	}
	return strings.Join(values, " ")
}

// wantParameters wants the kernel parameters as they were before, and no record of them.
func wantParameters(t *testing.T, before string) {
	t.Helper()
	if after := kernelParameters(t); after != before {
		t.Errorf("kernel parameters were %q and are %q", before, after)
	}
	if left, err := filepath.Glob("/run/zramfs/*zramfs-test-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Kernel parameters are what up sets while it is up, and what they were after it.
func TestSwapTune(t *testing.T) {
	dir := swapDir(t)
	before := kernelParameters(t)
	up := mustRun(t, commandTimeout, "up", "-v", "--size", "64M", "--tune", "recommended", dir)
	wantSteps(t, up.Stdout, "tune ok vm.", "swap ok")
	if during := kernelParameters(t); during == before || !strings.HasPrefix(during, fmt.Sprint(tune.PageCluster, " ")) {
		t.Errorf("kernel parameters are %q", during)
	}
	down := mustRun(t, downTimeout, "down", "-v", dir)
	wantSteps(t, down.Stdout, "swap ok", "mount ok") // the keeper may restore them before down does
	wantNothingLeft(t, dir)
	wantParameters(t, before)
}

// Without --tune no parameter changes.
func TestSwapKeepsParameters(t *testing.T) {
	dir := swapDir(t)
	before := kernelParameters(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	if during := kernelParameters(t); during != before {
		t.Errorf("kernel parameters were %q and are %q", before, during)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	wantParameters(t, before)
}

// Two devices come and go in either order: the last one restores.
func TestSwapTuneTwoDevices(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		dirs := [2]string{swapDir(t), swapDir(t)}
		before := kernelParameters(t)
		mustRun(t, commandTimeout, "up", "--size", "64M", "--tune", "recommended", dirs[0])
		during := kernelParameters(t)
		mustRun(t, commandTimeout, "up", "--size", "64M", "--tune", "recommended", "--priority", "200", dirs[1])
		mustRun(t, downTimeout, "down", dirs[order[0]])
		if now := kernelParameters(t); now != during || now == before {
			t.Errorf("with one device left kernel parameters are %q, were %q with two and %q before", now, during, before)
		}
		mustRun(t, downTimeout, "down", dirs[order[1]])
		wantNothingLeft(t, dirs[0])
		wantNothingLeft(t, dirs[1])
		wantParameters(t, before)
	}
}

// up is killed once it has printed a step: the keeper or down restores the parameters.
func TestSwapTuneKilled(t *testing.T) {
	for _, step := range []string{"loop ", "mkswap ", "tune ", "swap "} {
		dir := swapDir(t)
		before := kernelParameters(t)
		cmd := command(t, "up", "-v", "--size", "64M", "--tune", "recommended", dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for lines := bufio.NewScanner(out); !said && lines.Scan(); {
			said = strings.HasPrefix(lines.Text(), step)
		}
		if err := cmd.Process.Kill(); err != nil || !said {
			t.Errorf("kill up after %q: %v, printed: %t", step, err, said)
		}
		_ = cmd.Wait() // it was killed, or has ended in time
		mustRun(t, downTimeout, "down", dir)
		wantNothingLeft(t, dir)
		wantParameters(t, before)
	}
}

// Where /dev/cpu_dma_latency cannot be opened, --tune also sets a parameter of a module, if this
// kernel idles by the governor that reads it.
func TestSwapTuneModuleParameter(t *testing.T) {
	if os.Getenv(apartVariable) == "" {
		require.Root(t)
		runApart(t, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS})
		return
	}
	dir := swapDir(t)
	barLatencyDevice(t)
	before := haltPoll(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", "--tune", "recommended", dir)
	during := haltPoll(t)
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
	want := before
	governor, err := os.ReadFile("/sys/devices/system/cpu/cpuidle/current_governor")
	if err == nil && string(governor) == "haltpoll\n" && before == "0" && pmqos.Available(host.Local) != nil {
		want = "200000"
	}
	if after := haltPoll(t); during != want || after != before {
		t.Errorf("guest_halt_poll_ns was %s, then %s, then %s; want %s meanwhile", before, during, after, want)
	}
}

// barLatencyDevice makes the device of PM QoS one that cannot be opened for writing, in the mount
// namespace of the test: a file that is mounted read-only.
func barLatencyDevice(t *testing.T) {
	t.Helper()
	const device = pmqos.Device
	if _, err := os.Stat(device); errors.Is(err, fs.ErrNotExist) {
		return
	}
	node := filepath.Join(tempDir(t), "node")
	if err := errors.Join(os.WriteFile(node, nil, 0o600), unix.Mount(node, device, "", unix.MS_BIND, ""),
		unix.Mount("", device, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(device, 0); err != nil {
			t.Error(err)
		}
	})
	if pmqos.Available(host.Local) == nil {
		t.Fatal("it can be opened")
	}
}

// haltPoll returns the parameter of the module, or "" without it.
func haltPoll(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
