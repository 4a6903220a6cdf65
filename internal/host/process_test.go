// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestProcesses(t *testing.T) {
	const after = " 1 7 7 0 -1 4194560 1 0 0 0 150 7 0 0 20 0 1 0 "
	r := tree(t, map[string]string{
		"proc/7/stat":       "7 (a) b) T" + after + "998877 0 0\n",
		"proc/7/cmdline":    "zramfs\x00mount\x00/run/zram\x00",
		"proc/7/status":     "Name:\ta) b\nNSpid:\t7\t2\n",
		"proc/7/fdinfo/0":   "pos:\t0\nflags:\t02\n",
		"proc/7/fdinfo/5":   "pos:\t0\nino:\t3\nfuse_connection:\t42\n",
		"proc/8/stat":       "8 (a) b) Z" + after + "5 0 0\n",
		"proc/9/stat":       "9 (other) S" + after + "5 0 0\n",
		"proc/9/status":     "NSpid:\t\n",
		"proc/10/stat":      "10 (a) b) S 1\n",
		"proc/meminfo":      "",
		"proc/11/mountinfo": "",
	})
	want := Process{PID: 7, Name: "a) b", State: 'T', Parent: 1, Start: 998877, CPU: 1570 * time.Millisecond}
	if got, ok := r.Process(7); !ok || got != want || !got.Stopped() {
		t.Errorf("%+v, %v; want %+v", got, ok, want)
	}
	for _, pid := range []int{8, 10, 11, 12} {
		if got, ok := r.Process(pid); ok {
			t.Errorf("process %d is %+v", pid, got)
		}
	}
	if got := r.ProcessesNamed("a) b"); !slices.Equal(got, []Process{want}) {
		t.Errorf("by name: %+v", got)
	}
	if got := r.Arguments(7); !slices.Equal(got, []string{"zramfs", "mount", "/run/zram"}) {
		t.Errorf("arguments %q", got)
	}
	if got := r.Arguments(9); got != nil {
		t.Errorf("arguments without a file: %q", got)
	}
	if a, b, c := r.InnerPID(7), r.InnerPID(9), r.InnerPID(12); a != 2 || b != 0 || c != 0 {
		t.Errorf("inner PIDs %d, %d, %d", a, b, c)
	}
	if !r.HoldsFUSE(7, 42) || r.HoldsFUSE(7, 4) || r.HoldsFUSE(7, 0) || r.HoldsFUSE(9, 42) {
		t.Error("HoldsFUSE")
	}
	if self, ok := Local.Process(os.Getpid()); !ok || self.Start == 0 || self.Parent != os.Getppid() {
		t.Errorf("this process is %+v, %v", self, ok)
	}
	if Local.InnerPID(os.Getpid()) == 0 {
		t.Error("the PID of this process in its namespace")
	}
}

func TestParseUsage(t *testing.T) {
	text := "Name:\tzramfs\nPPid:\t412\nVmRSS:\t  12896 kB\nRssAnon:\t    1740 kB\nRssFile:\t    6876 kB\nRssShmem:\t    4280 kB\nVmPTE:\t     112 kB\nVmSwap:\t      12 kB\n"
	want := Usage{Anon: 1740 << 10, File: 6876 << 10, Tables: 112 << 10, Swap: 12 << 10, Parent: 412}
	if got := parseUsage(text); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
