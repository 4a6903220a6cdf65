// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"os"
	"slices"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/procpages"
)

// Others returns the processes with pages in swap, without the calling one and those with one of
// these names (/proc/PID/comm).
func Others(names []string) ([]int, error) {
	all, err := procpages.Processes()
	return slices.DeleteFunc(all, func(pid int) bool {
		c, err := procpages.CountOf(pid)
		if err != nil || c.Swapped == 0 || pid == os.Getpid() {
			return true
		}
		p, alive := host.Local.Process(pid)
		return !alive || slices.Contains(names, p.Name)
	}), err
}
