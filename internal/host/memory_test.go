// SPDX-License-Identifier: Apache-2.0

package host

import (
	"maps"
	"testing"
)

func TestMemory(t *testing.T) {
	for text, want := range map[string][2]uint64{ // MemTotal and MemAvailable; 0 for an error
		"MemTotal:       24684084 kB\nMemAvailable:       3 kB\n": {24684084 << 10, 3072},
		"MemTotal:       24684084 kB\n":                           {24684084 << 10, 0},
		"MemAvailable:   lots\n":                                  {0, 0},
	} {
		r := tree(t, map[string]string{"proc/meminfo": text})
		if n, err := r.MemTotal(); (err != nil) != (want[0] == 0) || err == nil && n != want[0] {
			t.Errorf("%q: MemTotal %d, %v", text, n, err)
		}
		if n, err := r.MemAvailable(); (err != nil) != (want[1] == 0) || err == nil && n != want[1] {
			t.Errorf("%q: MemAvailable %d, %v", text, n, err)
		}
	}
	total, err := Local.MemTotal()
	if err != nil || total < 16<<20 || total%1024 != 0 {
		t.Errorf("this machine has %d bytes, %v", total, err)
	}
	if n, err := Local.MemAvailable(); err != nil || n == 0 || n > total {
		t.Errorf("this machine has %d bytes available, %v", n, err)
	}
}

func TestHeadroom(t *testing.T) {
	top1, top2 := "41 31 0:38 / /m rw - cgroup cgroup rw,memory\n", "41 31 0:38 / /m rw - cgroup2 cgroup2 rw\n"
	stat2 := "file 900000\nactive_anon 40000\ninactive_anon 8000\nunevictable 576\nswapcached 0\n"
	for name, c := range map[string]struct {
		mounts, controllers, limit, stat string
		room                             uint64
	}{
		"no hierarchy":       {room: 4 << 20},
		"no controller":      {top2, "cpu io\n", "", "", 4 << 20},
		"the whole machine":  {top2, "cpu memory\n", "", "", 4 << 20},
		"no limit":           {top2, "cpu memory\n", "max\n", "", 4 << 20},
		"a higher limit":     {top2, "cpu memory\n", "9999999\n", stat2, 4 << 20},
		"a lower limit":      {top2, "cpu memory\n", "1048576\n", stat2, 1000000},
		"used beyond it":     {top2, "cpu memory\n", "1000\n", stat2, 0},
		"a lower limit, v1":  {top1, "", "9999999\n", "hierarchical_memory_limit 1000000\ntotal_active_anon 1\n", 999999},
		"no limit, v1":       {top1, "", "9223372036854771712\n", "hierarchical_memory_limit 9223372036854771712\n", 4 << 20},
		"nothing told":       {mounts: "-", room: 1},
		"not a number":       {top2, "cpu memory\n", "much\n", stat2, 1},
		"what is used not":   {top2, "cpu memory\n", "1000\n", "", 1},
		"no limit there, v1": {top1, "", "", "", 1},
	} {
		files := map[string]string{
			"proc/meminfo": "MemTotal: 100000 kB\nMemAvailable: 4096 kB\n", "proc/self/mountinfo": c.mounts,
			"m/cgroup.controllers": c.controllers, "m/memory.max": c.limit, "m/memory.limit_in_bytes": c.limit, "m/memory.stat": c.stat,
			"m/memory.swap.current": "0\n",
		}
		maps.DeleteFunc(files, func(name, text string) bool { return text == "" && name != "proc/self/mountinfo" })
		if c.mounts == "-" {
			files = nil
		}
		room, err := tree(t, files).Headroom()
		if (err != nil) != (c.room == 1) || err == nil && room != c.room {
			t.Errorf("%s: %d, %v, want %d", name, room, err, c.room)
		}
	}
}
