// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"
)

// sysctlFile is the file of a kernel parameter, which sysctl(8) writes as vm.swappiness.
func sysctlFile(parameter string) string {
	return "proc/sys/" + strings.ReplaceAll(parameter, ".", "/")
}

// Sysctl returns the value of a kernel parameter, named as in sysctl(8). The error is
// fs.ErrNotExist where the kernel does not have it.
func (r Root) Sysctl(parameter string) (string, error) { return r.Read(sysctlFile(parameter)) }

// SysctlNumber returns the value of a kernel parameter that is a decimal number without a sign.
func (r Root) SysctlNumber(parameter string) (uint64, error) {
	return r.Number(sysctlFile(parameter))
}

// WriteSysctl changes a kernel parameter.
func (r Root) WriteSysctl(parameter, value string) error {
	return r.WriteControl(sysctlFile(parameter), value+"\n")
}

// KernelRelease returns the release of the running kernel, as 6.14.0-31-generic, and the two
// numbers that it begins with.
func (r Root) KernelRelease() (release string, major, minor int, err error) {
	release, err = r.Sysctl("kernel.osrelease")
	if err != nil {
		return "", 0, 0, err
	}
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return release, 0, 0, fmt.Errorf("read the kernel version %q: %w", release, err)
	}
	return release, major, minor, nil
}
