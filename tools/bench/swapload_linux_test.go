// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// sharedPool returns a pool as a load gets it.
func sharedPool(t *testing.T) *os.File {
	t.Helper()
	file, err := testPool(t).share()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// wantOnCPU0 checks that a process may run on CPU 0 only, and this one still on all.
func wantOnCPU0(t *testing.T, pid int) {
	t.Helper()
	var its, ours unix.CPUSet
	if err := errors.Join(unix.SchedGetaffinity(pid, &its), unix.SchedGetaffinity(0, &ours)); err != nil {
		t.Fatal(err)
	}
	if its.Count() != 1 || !its.IsSet(0) || ours.Count() != runtime.NumCPU() {
		t.Errorf("the load may run on %d CPUs, this process on %d", its.Count(), ours.Count())
	}
}

// A load fills its memory, finds it as it was, and joins the group it is given. Here
// that is a file, so that nothing is swapped.
func TestLoadVerifies(t *testing.T) {
	require.Root(t) // to lock memory
	group := t.TempDir()
	load, err := startLoad(t.Context(), group, sharedPool(t), loadOrder{workload: workUniform, pages: 1000, touches: 50, seed: 1, cpu: 0})
	if err != nil {
		t.Fatal(err)
	}
	defer load.end()
	wantOnCPU0(t, load.cmd.Process.Pid)
	if joined, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err != nil || string(joined) != "0" {
		t.Errorf("it wrote %q to join its group, %v", joined, err)
	}
	if _, err := load.do(orderWalk); err == nil || !strings.Contains(err.Error(), "walk: page ") {
		t.Errorf("memory that was never filled: %v", err)
	}
	for order, pages := range map[string]int{orderFill: 1000, orderWalk: 1000, orderTouch: 50} {
		if order != orderFill {
			if _, err := load.do(orderFill); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := load.do(order); err != nil || got.Pages != pages || got.Took <= 0 || got.Missed != 0 {
			t.Errorf("%s: %+v, %v", order, got, err)
		}
	}
	if _, err := load.do("dance"); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("an unknown order: %v", err)
	}
	if err := load.end(); err != nil {
		t.Error(err)
	}
	if _, err := load.do(orderWalk); err == nil {
		t.Error("a load that has ended answers")
	}
}

// touchEach touches each page, every other one by a write.
func touchEach(pages int) []touch {
	all := make([]touch, pages)
	for i := range all {
		all[i] = touch{int32(i), i%2 == 1}
	}
	return all
}

// The number of a wrong page is told.
func TestWrongPageIsTold(t *testing.T) {
	pool := bytes.Join(pages.Mix(8, 5), nil)
	load := &swapLoad{memory: make([]byte, 20*codec.PageSize), source: newSource(pool), touches: touchEach(20)}
	load.fill()
	load.page(13)[99] ^= 1
	if _, err := load.walk(time.Hour); err == nil || !strings.Contains(err.Error(), "walk: page 13: ") {
		t.Errorf("walk: %v", err)
	}
	if _, err := load.touchAll(); err == nil || !strings.Contains(err.Error(), "touch: page 13: ") {
		t.Errorf("touch: %v", err)
	}
}

// A walk that takes too long ends, and counts the pages that it has read.
func TestWalkEnds(t *testing.T) {
	pool := bytes.Join(pages.Mix(8, 5), nil)
	load := &swapLoad{memory: make([]byte, 600*codec.PageSize), source: newSource(pool)}
	load.fill()
	load.page(300)[0] ^= 1 // it is not read
	if got, err := load.walk(0); err != nil || got.Pages != 256 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The kernel's counts tell a touch that faulted from one that did not.
func TestTouchesAreTold(t *testing.T) {
	runtime.LockOSThread() // as a load is: the counts are those of the thread
	defer runtime.UnlockOSThread()
	pool := bytes.Join(pages.Mix(8, 5), nil)
	load := &swapLoad{memory: make([]byte, codec.PageSize), source: newSource(pool), touches: make([]touch, 100)}
	load.fill()
	got, err := load.touchAll()
	if err != nil || got.Missed != 0 || got.Minor != 0 || got.Touching <= 0 || got.Waited != 0 {
		t.Errorf("a page in memory: %+v, %v", got, err)
	}
}

// Filling, walking and touching allocate nothing: that would be measured too.
func TestSwapLoadAllocatesNothing(t *testing.T) {
	pool := bytes.Join(pages.Mix(8, 5), nil)
	load := &swapLoad{memory: make([]byte, 20*codec.PageSize), source: newSource(pool), touches: touchEach(20)}
	load.fill()
	for name, step := range map[string]func() error{
		"fill":  func() error { load.fill(); return nil },
		"walk":  func() error { _, err := load.walk(time.Hour); return err },
		"touch": func() error { _, err := load.touchAll(); return err },
	} {
		if allocs := testing.AllocsPerRun(20, func() {
			if err := step(); err != nil {
				t.Error(err)
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func TestLoadRefusesArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"g", "uniform", "1", "2"}, {"g", "uniform", "x", "2", "3"}, {"g", "uniform", "1", "-2", "3"}, {"g", "absent", "1", "2", "3"}} {
		if err := playLoad(args, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
