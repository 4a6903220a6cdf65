// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// processFiles are the files in /proc/PID that the bundle takes of a process of ours. None of them
// has arguments, environment or contents of memory.
var processFiles = []string{"status", "smaps_rollup", "limits", "cgroup"}

// processes adds what the kernel tells of the keepers and workers.
func (c *collector) processes() {
	for _, p := range c.Machine.ProcessesNamed(status.ServerName) {
		role := zramfsd.Keeper
		if swapdev.IsWorker(c.Machine.Arguments(p.PID)) {
			role = zramfsd.Worker
		}
		pid := strconv.Itoa(p.PID)
		at := fmt.Sprintf("processes/%s-%s/", role, pid)
		for _, name := range processFiles {
			c.copyFile(at+name, fmt.Sprintf("/proc/%s/%s of a %s", pid, name, role), "proc", pid, name)
		}
		c.take(at+"limits-of-groups", "limits of the control groups that it is in", fileTime, func(context.Context) ([]byte, error) {
			return c.groupLimits(p.PID)
		})
		c.take(at+"stacks", "where in the kernel its threads are", fileTime, func(context.Context) ([]byte, error) { return c.stacks(pid) })
	}
}

// stacks returns the kernel stack of each thread of a process.
func (c *collector) stacks(pid string) ([]byte, error) {
	tasks, err := os.ReadDir(c.Machine.Path("proc", pid, "task"))
	var out bytes.Buffer
	for _, t := range tasks {
		stack, err := os.ReadFile(c.Machine.Path("proc", pid, "task", t.Name(), "stack"))
		if err != nil {
			return out.Bytes(), err
		}
		fmt.Fprintf(&out, "thread %s\n%s", filepath.Base(t.Name()), stack)
	}
	return out.Bytes(), err
}
