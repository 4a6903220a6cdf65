// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/procpages"
)

// Others returns the processes with pages in swap, without the calling one.
func Others() ([]int, error) {
	all, err := procpages.Processes()
	return slices.DeleteFunc(all, func(pid int) bool {
		c, err := procpages.CountOf(pid)
		return err != nil || c.Swapped == 0 || pid == os.Getpid()
	}), err
}

// InGroup returns the processes in a control group and below it, without the calling one. The path
// is a directory, or one below the top of the hierarchy of the memory controller.
func InGroup(ctx context.Context, path string) ([]int, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	pids, err := host.Local.ProcessesBelow(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if h, hierarchyErr := host.Local.MemoryHierarchy(); hierarchyErr == nil && h.Top != "" {
			pids, err = host.Local.ProcessesBelow(ctx, filepath.Join(h.Top, filepath.Join("/", path)))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no control group: name its directory, as /sys/fs/cgroup/app, or its path in /proc/PID/cgroup", path)
	}
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == os.Getpid() }), err
}
