// SPDX-License-Identifier: Apache-2.0

package host

import "fmt"

// MemTotal returns the memory that the kernel manages, in bytes (proc_meminfo(5)). Limits of
// control groups do not count.
func (r Root) MemTotal() (uint64, error) { return r.kibibytes("proc/meminfo", "MemTotal") }

// MemAvailable returns the memory that programs can take without swapping, in bytes
// (proc_meminfo(5)).
func (r Root) MemAvailable() (uint64, error) { return r.kibibytes("proc/meminfo", "MemAvailable") }

// Headroom returns how many bytes the process may yet take: MemAvailable or, if that is less, what
// the limit leaves in the top control group that is mounted, as in a container. Memory of the group
// that the kernel could drop counts as left.
func (r Root) Headroom() (uint64, error) {
	available, err := r.MemAvailable()
	if err != nil {
		return 0, err
	}
	h, err := r.MemoryHierarchy()
	if err != nil {
		return 0, fmt.Errorf("find the control group: %w", err)
	}
	if h.Top == "" {
		return available, nil
	}
	g, err := h.Group(h.Top)
	if err != nil {
		return 0, fmt.Errorf("read the limit of the control group: %w", err)
	}
	return min(available, g.Limit-min(g.Resident, g.Limit)), nil
}
