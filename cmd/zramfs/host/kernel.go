// SPDX-License-Identifier: Apache-2.0

package host

import "strings"

// sysctlFile is the file of a kernel parameter, which sysctl(8) writes as vm.swappiness.
func sysctlFile(parameter string) string {
	return "proc/sys/" + strings.ReplaceAll(parameter, ".", "/")
}

// Sysctl returns the value of a kernel parameter, named as in sysctl(8). The error is
// fs.ErrNotExist where the kernel does not have it.
func (r Root) Sysctl(parameter string) (string, error) { return r.Read(sysctlFile(parameter)) }

// WriteSysctl changes a kernel parameter.
func (r Root) WriteSysctl(parameter, value string) error {
	return r.WriteControl(sysctlFile(parameter), value+"\n")
}
