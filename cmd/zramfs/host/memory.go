// SPDX-License-Identifier: Apache-2.0

package host

// MemTotal returns the memory that the kernel manages, in bytes (proc_meminfo(5)). Limits of
// control groups do not count.
func (r Root) MemTotal() (uint64, error) { return r.Bytes("proc/meminfo", "MemTotal") }
