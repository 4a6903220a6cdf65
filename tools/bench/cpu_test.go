// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestParseBusy(t *testing.T) {
	// user nice system idle iowait irq softirq steal guest guest_nice
	got, err := parseBusy("cpu  100 20 3 9999 888 4 50 600 70 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if want := 7770 * time.Millisecond; err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, text := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu 1 2 x 4 5 6 7 8 9 10"} {
		if got, err := parseBusy(text); !errors.Is(err, errKernelText) {
			t.Errorf("%q gives %v, %v", text, got, err)
		}
	}
}

func TestParseTask(t *testing.T) {
	const process = "10 (a) b) S 1 10 10 0 -1 4194560 5 0 0 0 150 25 9 9 20 0 1 0 777 0 0 1 0 0"
	name, got, err := parseTask(10, process)
	if err != nil || name != (taskName{10, "777"}) || got != (task{busy: 1750 * time.Millisecond}) {
		t.Errorf("%+v, %+v, %v", name, got, err)
	}
	const thread = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 1 1 0 0 20 0 1 0 24 0 0 1"
	if _, got, err := parseTask(2, thread); err != nil || got.role != roleKernel {
		t.Errorf("a thread of the kernel: %+v, %v", got, err)
	}
	for _, text := range []string{"", "10 (a) S 1", "10 a S 1 10 10 0 -1 4194560 5 0 0 0 150 25 9 9 20 0 1 0 777 0 0 1"} {
		if _, got, err := parseTask(10, text); !errors.Is(err, errKernelText) {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
	}
}

// Each task counts separately: a new one with all its time, and a reused number as another task.
func TestCensusSince(t *testing.T) {
	at := func(seconds int) time.Duration { return time.Duration(seconds) * time.Second }
	before := census{at(100), map[taskName]task{
		{1, "5"}: {roleLoad, at(1)}, {2, "5"}: {roleServer, at(10)}, {3, "5"}: {roleKernel, at(20)}, {4, "5"}: {roleKernel, at(1000)},
	}}
	after := census{at(150), map[taskName]task{
		{1, "5"}: {roleLoad, at(3)}, {2, "5"}: {roleServer, at(14)}, {2, "9"}: {roleServer, at(1)},
		{3, "5"}: {roleKernel, at(27)}, {4, "8"}: {roleKernel, at(2)}, {7, "7"}: {roleOther, at(500)},
	}}
	want := cpuTime{Load: 2, Server: 5, Kernel: 9, Machine: 50}
	if got := after.since(before); got != want || got.own() != 16 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A census finds this process on the load's account, and on the server's where its
// program is that.
func TestCensusFindsItself(t *testing.T) {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for want, all := range map[role]party{roleLoad: {load: os.Getpid()}, roleServer: {server: path}, roleOther: {}} {
		got, err := all.count()
		if err != nil {
			t.Fatal(err)
		}
		for name, one := range got.tasks {
			if name.pid == os.Getpid() && one.role != want {
				t.Errorf("%+v: role %d, want %d", all, one.role, want)
			}
		}
	}
}
