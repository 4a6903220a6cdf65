// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// interesting are the lines of /proc/meminfo and /proc/vmstat that watch prints.
var interesting = []string{"MemFree", "MemAvailable", "Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable", "Mlocked", "SwapFree", "Shmem", "Slab", "KernelStack", "PageTables", "SwapCached",
	"nr_free_pages", "pswpin", "pswpout", "pgmajfault", "pgscan_kswapd", "pgscan_direct", "pgsteal_kswapd", "pgsteal_direct", "oom_kill", "allocstall_normal", "allocstall_dma32", "workingset_refault_anon", "workingset_refault_file", "pgscan_anon", "pgscan_file", "pgsteal_anon", "pgsteal_file"}

// watch prints to the console, at an interval in seconds, what memory and each process are doing.
// It has in memory all that it needs for that.
func watch(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want the number of seconds between two looks")
	}
	seconds, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return err
	}
	console, err := os.OpenFile("/dev/console", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := stay(); err != nil {
		return err
	}
	var out bytes.Buffer
	out.Grow(64 << 10)
	for {
		out.Reset()
		look(&out)
		if _, err := console.Write(out.Bytes()); err != nil {
			return err
		}
		time.Sleep(time.Duration(seconds * float64(time.Second)))
	}
}

func look(out *bytes.Buffer) {
	uptime, _ := os.ReadFile("/proc/uptime") // an absent figure is seen
	fmt.Fprintf(out, "== watch %s", uptime)
	for _, path := range []string{"/proc/meminfo", "/proc/vmstat"} {
		text, _ := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if name := strings.TrimSuffix(fields[0], ":"); slices.Contains(interesting, name) {
				fmt.Fprintf(out, "%s %s ", name, fields[1])
			}
		}
		out.WriteByte('\n')
	}
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err == nil {
			lookAt(out, "/proc/"+p.Name())
		}
	}
}

// lookAt prints the threads of a process that run, wait for the disk, or have ended.
func lookAt(out *bytes.Buffer, dir string) {
	threads, _ := os.ReadDir(dir + "/task") // it may have ended
	for _, t := range threads {
		task := dir + "/task/" + t.Name()
		text, err := os.ReadFile(task + "/stat")
		if err != nil {
			continue
		}
		// The name is in parentheses and may have spaces.
		name, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) < 40 {
			continue
		}
		fmt.Fprintf(out, "%s) %s majflt %s utime %s stime %s rss %s class %s", name, f[0], f[9], f[11], f[12], f[21], f[38])
		if f[0] != "S" && f[0] != "I" {
			stack, _ := os.ReadFile(task + "/stack") // of a running one it is empty
			for line := range strings.Lines(string(stack)) {
				if call := strings.Fields(line); len(call) > 1 {
					fmt.Fprintf(out, " < %s", strings.SplitN(call[1], "+", 2)[0])
				}
			}
		}
		out.WriteByte('\n')
	}
}
