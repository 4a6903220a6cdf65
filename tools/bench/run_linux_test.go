// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

func testRandom() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// needEverything skips unless both devices can be made.
func needEverything(t *testing.T) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Zram(t)
	for _, program := range []string{"fio", "losetup", "go"} {
		require.Command(t, program)
	}
}

// build builds a program of this module.
func build(t *testing.T, what string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(what))
	build := exec.Command("go", "build", "-o", path, what)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", what, err, out)
	}
	return path
}

// buildZramfs builds zramfs and its server next to it.
func buildZramfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+"/", "github.com/zramfs/zramfs/cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build zramfs: %v\n%s", err, out)
	}
	return filepath.Join(dir, "zramfs")
}

// A whole run on the real program: figures for both devices, and nothing left.
func TestRunMeasuresBoth(t *testing.T) {
	needEverything(t)
	testPool(t)
	zramfs := buildZramfs(t)
	t.Setenv("TMPDIR", t.TempDir())
	opts, err := parse([]string{"-binary", zramfs, "-size", "64M", "-rounds", "1", "-runtime", "150ms", "-json"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := run(t.Context(), opts, &out, &progress); err != nil {
		t.Fatalf("%v\n%s%s", err, progress.String(), out.String())
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(got.WakeUps.AsIs) != 1 || got.WakeUps.AsIs[0].Same.P50 <= 0 {
		t.Errorf("wake-ups: %+v", got.WakeUps)
	}
	if len(got.Devices) != 2 || got.Size != 64<<20 {
		t.Fatalf("devices %+v, size %d", got.Devices, got.Size)
	}
	for _, device := range got.Devices {
		if device.Filled == nil || device.Filled.Original != 64<<20 || device.Filled.ratio() < 1.5 {
			t.Errorf("%s holds %+v", device.Name, device.Filled)
		}
		if device.Filled.Overhead < 1 || device.Filled.Overhead > 1.5 {
			t.Errorf("%s uses %.3f bytes for each compressed one", device.Name, device.Filled.Overhead)
		}
	}
	for _, row := range got.Workload {
		wantMeasured(t, row)
	}
	wantNothingLeft(t, out.String())
}

// wantMeasured checks a workload on both devices, zramfs first: kernel zram has no
// server that takes time.
func wantMeasured(t *testing.T, row reportRow) {
	t.Helper()
	for d, median := range row.Median {
		if median.Requests <= 0 || median.P50 <= 0 || median.P99 < median.P50 {
			t.Errorf("%s on device %d: %+v", row.Name, d, median)
		}
		if spent := row.Rounds[d][0].Spent; median.CPU <= 0 || spent.Load <= 0 || (spent.Server > 0) != (d == 0) {
			t.Errorf("%s on device %d spent %+v", row.Name, d, spent)
		}
	}
}

// wantNothingLeft checks that the devices which a run's output names are gone, and
// that its directory for temporary files is empty.
func wantNothingLeft(t *testing.T, output string) {
	t.Helper()
	for _, name := range regexp.MustCompile(`/dev/zram[0-9]+`).FindAllString(output, -1) {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mounts, []byte(os.TempDir())) {
		t.Errorf("a mount is left:\n%s", mounts)
	}
	attached, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range attached {
		if backing, err := os.ReadFile(name); err == nil && bytes.Contains(backing, []byte(os.TempDir())) {
			t.Errorf("%s is still attached to %s", name, backing)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Interrupted while it fills, reads by fio or writes by itself, the tool undoes
// everything before it ends with a failure.
func TestInterruptLeavesNothing(t *testing.T) {
	needEverything(t)
	testPool(t)
	zramfs, bench := buildZramfs(t), build(t, "github.com/zramfs/zramfs/tools/bench")
	for moment, signal := range map[string]syscall.Signal{
		"filling zramfs":    unix.SIGTERM,
		"read 1 MiB":        unix.SIGINT,
		"psync, depth 1 on": unix.SIGHUP,
		"write 4 KiB":       unix.SIGINT,
	} {
		t.Run(moment, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			before := zramDevices(t)
			tool := exec.Command(bench, "-binary", zramfs, "-size", "64M", "-rounds", "1", "-runtime", "300ms")
			progress, err := tool.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := tool.Start(); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for lines, sent := bufio.NewScanner(progress), false; lines.Scan(); {
				said.WriteString(lines.Text() + "\n")
				if !sent && strings.Contains(lines.Text(), moment) {
					sent = true
					time.Sleep(20 * time.Millisecond)
					if err := tool.Process.Signal(signal); err != nil {
						t.Error(err)
					}
				}
			}
			var exit *exec.ExitError
			if err := tool.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
				t.Errorf("the tool ended with %v, want exit status %d:\n%s", err, exitFailure, said.String())
			}
			wantNothingLeft(t, said.String())
			if after := zramDevices(t); len(after) > len(before) {
				t.Errorf("zram devices %v, before %v", after, before)
			}
		})
	}
}

// A tool whose output nothing reads any longer undoes everything too.
func TestReaderThatEndsLeavesNothing(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "fio")
	require.Command(t, "losetup")
	testPool(t)
	zramfs, bench := buildZramfs(t), build(t, "github.com/zramfs/zramfs/tools/bench")
	t.Setenv("TMPDIR", t.TempDir())
	tool := exec.Command(bench, "-binary", zramfs, "-anchor", "none", "-size", "16M", "-rounds", "1", "-runtime", "100ms")
	progress, err := tool.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(progress).ReadString('\n'); err != nil || !strings.Contains(said, "filling zramfs") {
		t.Errorf("it says %q, %v", said, err)
	}
	if err := progress.Close(); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := tool.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("the tool ended with %v, want exit status %d", err, exitFailure)
	}
	wantNothingLeft(t, "")
}

func zramDevices(t *testing.T) []string {
	t.Helper()
	devices, err := filepath.Glob("/sys/block/zram*")
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// A set-up that fails undoes what it had made.
func TestFailedSetUpLeavesNothing(t *testing.T) {
	needEverything(t)
	testPool(t)
	zramfs := buildZramfs(t)
	t.Setenv("TMPDIR", t.TempDir())
	before := zramDevices(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	// With fio alone in PATH, zramfs is mounted and then losetup is not found.
	bin := t.TempDir()
	if err := os.Symlink(fio, filepath.Join(bin, "fio")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	opts, err := parse([]string{"-binary", zramfs, "-size", "64M", "-rounds", "1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), opts, &bytes.Buffer{}, &bytes.Buffer{}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without losetup: %v", err)
	}
	opts.algorithm = "no-such"
	if err := run(t.Context(), opts, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("an unknown algorithm: %v", err)
	}
	wantNothingLeft(t, "")
	if after := zramDevices(t); len(after) > len(before) {
		t.Errorf("zram devices %v, before %v", after, before)
	}
}

// A device that a command has made is undone although that failed: it may be killed at its end.
func TestFailedStartLeavesNothing(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Command(t, "fio")
	testPool(t)
	zramfs := buildZramfs(t)
	failing := filepath.Join(t.TempDir(), "failing")
	if err := os.WriteFile(failing, []byte("#!/bin/sh\n"+zramfs+` "$@" && [ "$1" != mount ]`+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	opts, err := parse([]string{"-binary", failing, "-anchor", "none", "-size", "16M"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := run(t.Context(), opts, io.Discard, io.Discard); !errors.As(err, &exit) {
		t.Errorf("a command that fails: %v", err)
	}
	wantNothingLeft(t, "")
}

// A file that is no block device, or is in use, is not overwritten.
func TestDeviceIsRefused(t *testing.T) {
	file := emptyFile(t)
	if _, err := openPlain(file); err == nil || !strings.Contains(err.Error(), "no block device") {
		t.Errorf("a file: %v", err)
	}
	if _, err := openPlain(file + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	require.Root(t)
	require.Loop(t)
	require.Command(t, "losetup")
	loop, err := command("losetup", "-f", "--show", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := detach(loop); err != nil {
			t.Error(err)
		}
	}()
	if _, err := openPlain(loop); err != nil {
		t.Errorf("an idle loop device: %v", err)
	}
	user, err := os.OpenFile(loop, os.O_RDWR|unix.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	if _, err := openPlain(loop); !errors.Is(err, unix.EBUSY) {
		t.Errorf("a loop device in use: %v", err)
	}
}
