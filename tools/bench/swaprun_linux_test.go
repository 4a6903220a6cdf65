// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/zswap"
	"github.com/zramfs/zramfs/loopsetup"
)

// needSwap skips unless both devices can be swapped to.
func needSwap(t *testing.T) {
	t.Helper()
	needEverything(t)
	require.Swap(t)
}

// wantNoSwap waits until neither swap nor a control group of the run is left, and the settings are
// what they were.
func wantNoSwap(t *testing.T, before []setting) {
	t.Helper()
	err := retry(func() error {
		areas, err := loopsetup.Swaps()
		var unused cleanup
		now, failed := keepSettings(&unused)
		groups, _ := filepath.Glob("/sys/fs/cgroup/*/zramfs-bench-*")
		unified, _ := filepath.Glob("/sys/fs/cgroup/zramfs-bench-*")
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		if len(areas)+len(groups)+len(unified) > 0 || !slices.Equal(now, before) {
			return fmt.Errorf("swap, a group or a setting is left: %v", now)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func readSettings(t *testing.T) []setting {
	t.Helper()
	var unused cleanup
	settings, err := keepSettings(&unused)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

// Without swap the kernel kills the program that is shown, with zramfs it finishes, and nothing is
// left.
func TestShowRuns(t *testing.T) {
	needSwap(t)
	testPool(t)
	zramfs, before := buildZramfs(t), readSettings(t)
	t.Setenv("TMPDIR", t.TempDir())
	opts, err := parse([]string{"show", "-binary", zramfs, "-limit", "48M"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), opts, &out, io.Discard); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"144M of memory", "without swap   the kernel killed it", "with zramfs    it finished: 48M in memory, 96M in swap", "  memory ", "  page fault "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	wantNoSwap(t, before)
}

// Swap is turned on and off on both devices, and nothing is left.
func TestStartRuns(t *testing.T) {
	needSwap(t)
	zramfs, before := buildZramfs(t), readSettings(t)
	t.Setenv("TMPDIR", t.TempDir())
	opts, err := parse([]string{"start", "-binary", zramfs, "-size", "64M", "-rounds", "2", "-json"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), opts, &out, io.Discard); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var got []startFigure
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"zramfs", zramName} {
		if f := got[i]; f.Name != name || len(f.Took) != 2 || f.P50 <= 0 || f.P50 > f.P99 || f.P99 > f.Max || f.What == "" {
			t.Errorf("%+v", f)
		}
	}
	wantNoSwap(t, before)
}

// A whole run with real swap: every page verified, figures for zramfs with and without zswap and
// for kernel zram, and nothing left. The windows take a few seconds each.
func TestSwapRunMeasuresAll(t *testing.T) {
	needSwap(t)
	testPool(t)
	zramfs, before := buildZramfs(t), readSettings(t)
	t.Setenv("TMPDIR", t.TempDir())
	if err := zswap.Unfit(host.Local); err != nil {
		t.Skip(err)
	}
	opts, err := parse([]string{"swap", "-binary", zramfs, "-limit", "48M", "-rounds", "1", "-touches", "2000", "-page-clusters", "0,5", "-json",
		"-contestant", "alone=--zswap off", "-contestant", "tier=--zswap 10%"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := run(t.Context(), opts, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	var got swapReport
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.WakeUps.AsIs) != 1 || got.WakeUps.AsIs[0].Same.P50 <= 0 {
		t.Errorf("wake-ups: %+v", got.WakeUps)
	}
	if len(got.Devices) != 3 || got.Filled != 3*48<<20 || got.Size != 4*48<<20 {
		t.Fatalf("the report:\n%s", out.String())
	}
	for _, device := range got.Devices {
		if len(device.Rounds) != 2 {
			t.Fatalf("%s: %d values of vm.page-cluster", device.Name, len(device.Rounds))
		}
		one := device.Rounds[0][0]
		// Readahead brings pages that a touch then finds. Kernel zram does not read ahead, and
		// behind zswap up sets vm.page-cluster to 1.
		if ahead := device.Rounds[1][0].Minor; ahead > 0 && device.Name == zramName || ahead == 0 && device.Name == "alone" {
			t.Errorf("%s: of the touches, %g found a page read ahead", device.Name, ahead)
		}
		// All of what is in swap fits into zswap.
		stored, hot := 1.9*48/1024, 0.0
		if device.Name == "tier" {
			stored, hot = 0, 1
		}
		if one.Hot != hot || (one.TakenZswap > 8) != (hot == 1) || one.TakenTouch <= one.TakenZswap || one.WrittenBack > 0 {
			t.Errorf("%s: %g of the pages from zswap, which took %g of %g MiB and wrote back %g GiB", device.Name, one.Hot, one.TakenZswap, one.TakenTouch, one.WrittenBack)
		}
		// Two thirds do not fit. Of 2,000 touches, as many must wait.
		if one.Out < 2*48.0/1024 || one.In < 2*48.0/1024 || one.Misses < 1000 || one.Stored < stored {
			t.Errorf("%s: swapped out %g GiB and in %g, stored %g, %d touches waited", device.Name, one.Out, one.In, one.Stored, one.Misses)
		}
		if one.Fill <= 0 || one.Walk <= 0 || one.Touch <= 0 || one.Miss <= 0 || one.MissP50 <= 0 || one.MissP99 < one.MissP50 || one.Walked != 1 || one.CPU <= 0 || (one.Spent.Server > 0) != (device.Name == "alone") && device.Name != "tier" {
			t.Errorf("%s: %+v", device.Name, one)
		}
		if !strings.Contains(device.What, "lz4") && !strings.Contains(device.What, "adaptive") {
			t.Errorf("%s: %s", device.Name, device.What)
		}
	}
	wantNoSwap(t, before)
	wantNothingLeft(t, out.String())
}

// startSwapTool starts the tool on zramfs alone and returns when swap is in use. Its output comes
// when it has ended.
func startSwapTool(t *testing.T, zramfs string) (tool *exec.Cmd, said chan string) {
	t.Helper()
	tool = exec.Command(build(t, "github.com/zramfs/zramfs/tools/bench"), "swap", "-binary", zramfs, "-limit", "48M", "-rounds", "1", "-times", "8",
		"-touches", "1000000", "-anchor", "none", "-mount-flags", "--zswap auto")
	progress, err := tool.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	said = make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(progress) // the rest is lost with the pipe
		said <- string(text)
	}()
	err = retry(func() error {
		areas, err := ownSwap()
		used := uint64(0)
		for _, area := range areas {
			used += area.Used
		}
		if err == nil && used < 16<<20 {
			err = errors.New("no swap is in use")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if zswap.Unfit(host.Local) == nil && !zswap.Running(host.Local) {
		t.Error("zswap is not on")
	}
	return tool, said
}

// Interrupted in the middle of a window, the tool undoes everything.
func TestInterruptedSwapLeavesNothing(t *testing.T) {
	needSwap(t)
	testPool(t)
	zramfs, before := buildZramfs(t), readSettings(t)
	t.Setenv("TMPDIR", t.TempDir())
	tool, said := startSwapTool(t, zramfs)
	if err := tool.Process.Signal(unix.SIGINT); err != nil {
		t.Error(err)
	}
	text := <-said
	var exit *exec.ExitError
	if err := tool.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("the tool ended with %v:\n%s", err, text)
	}
	wantNoSwap(t, before)
	wantNothingLeft(t, text)
}

// If the tool is killed in the middle of a window, its guard turns swap off before a process needs
// a page from there. Then the last user of the device is gone, and it ends.
func TestKilledToolLeavesNoSwap(t *testing.T) {
	needSwap(t)
	testPool(t)
	zramfs, before := buildZramfs(t), readSettings(t)
	t.Setenv("TMPDIR", t.TempDir())
	tool, _ := startSwapTool(t, zramfs)
	if err := tool.Process.Signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
	wantNoSwap(t, before)
	_ = tool.Wait() // it was killed
	err := retry(func() error {
		dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "zramfs-bench-*", "zram"))
		records, failed := filepath.Glob("/run/zramfs/*" + filepath.Base(filepath.Dir(os.TempDir())) + "*")
		if err = errors.Join(err, failed); err == nil && len(dirs)+len(records) > 0 {
			err = fmt.Errorf("devices %v and records %v are left", dirs, records)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// While other swap is on nothing is measured.
func TestOtherSwapIsRefused(t *testing.T) {
	needSwap(t)
	testPool(t)
	var made cleanup
	defer func() {
		if err := made.undo(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := upZram(options{size: minSize}, &made); err != nil {
		t.Fatal(err)
	}
	opts, err := parse([]string{"swap", "-binary", "bin/absent", "-limit", "48M"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := run(t.Context(), opts, io.Discard, io.Discard); !errors.Is(err, errOtherSwap) {
		t.Errorf("%v, after %v", err, time.Since(started))
	}
}
