// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"testing"
)

func TestMemoryHierarchy(t *testing.T) {
	const (
		first   = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n"
		unified = "tmpfs /run tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"
	)
	controllers := map[string]string{"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n"}
	read := func(path string) ([]byte, error) {
		if text, ok := controllers[path]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
	for mounts, want := range map[string]hierarchy{
		first:           {"/sys/fs/cgroup/memory", true},
		unified:         {"/sys/fs/cgroup", false},
		unified + first: {"/sys/fs/cgroup/memory", true},
	} {
		if got, err := memoryHierarchy(mounts, read); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", mounts, got, err, want)
		}
	}
	controllers["/sys/fs/cgroup/cgroup.controllers"] = "cpu io\n"
	for _, mounts := range []string{"", unified, "cgroup /x cgroup rw,memoryless 0 0\n", "short line\n"} {
		if got, err := memoryHierarchy(mounts, read); !errors.Is(err, errNoController) {
			t.Errorf("%q: %+v, %v", mounts, got, err)
		}
	}
}
