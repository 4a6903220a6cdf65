// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// checkGroup2 says how the control group of this process protects a device started from it, on
// cgroup v2. Locked memory needs neither setting; they matter if locking was refused and the device
// was forced.
func checkGroup2(m Machine) (Finding, error) {
	h, err := m.MemoryHierarchy()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return Finding{}, err
	}
	if !h.V2 {
		if h.Top != "" {
			return ok("memory is counted by cgroup v1")
		}
		return ok("no memory controller of cgroup v2")
	}
	dir, err := m.Group()
	if err != nil {
		return Finding{}, err
	}
	swap, err := m.Read(filepath.Join(dir, "memory.swap.max"))
	if errors.Is(err, fs.ErrNotExist) {
		return ok("%s has no memory.swap.max to set", dir)
	}
	if err != nil {
		return Finding{}, err
	}
	reserved, err := m.Read(filepath.Join(dir, "memory.min"))
	if err != nil {
		return Finding{}, err
	}
	if swap == "0" && reserved != "0" {
		return ok("%s is kept out of swap and in memory (memory.swap.max 0, memory.min %s)", dir, reserved)
	}
	return ok("%s has memory.swap.max %s, memory.min %s: locked memory needs neither; a device that is alone in its "+
		"group, as in a service, sets 0 and max", dir, swap, reserved)
}
