// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"path/filepath"
	"slices"
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
	return r.number(sysctlFile(parameter))
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

// FindModule reports whether a module of this name belongs to the running kernel: as a file that
// can be loaded, or built in (modules.dep(5)). Dir is the directory of the kernel's modules,
// relative to the Root. The error is only for the release of the kernel.
func (r Root) FindModule(module string) (dir string, found bool, err error) {
	release, _, _, err := r.KernelRelease()
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join("lib/modules", release)
	for _, list := range []string{"modules.dep", "modules.builtin"} {
		text, err := r.Read(filepath.Join(dir, list))
		if err == nil && strings.Contains(text, "/"+module+".ko") {
			return dir, true, nil
		}
	}
	return dir, false, nil
}

// ModuleParameter returns the value of a parameter of a module that is loaded or built in. The
// error is fs.ErrNotExist where there is no such module or parameter.
func (r Root) ModuleParameter(module, parameter string) (string, error) {
	return r.Read(filepath.Join("sys/module", module, "parameters", parameter))
}

// HasBootParameter reports whether a word is on the command line of the kernel.
func (r Root) HasBootParameter(word string) bool {
	line, err := r.Read("proc/cmdline")
	return err == nil && slices.Contains(strings.Fields(line), word)
}

// HasProc reports whether proc is mounted.
func (r Root) HasProc() bool { return r.exists("proc/self") }

// HasSys reports whether sysfs is mounted.
func (r Root) HasSys() bool { return r.exists("sys/block") }

// HasZram reports whether the kernel's zram is loaded.
func (r Root) HasZram() bool { return r.exists("sys/class/zram-control") }

// HasJournal reports whether systemd-journald takes messages.
func (r Root) HasJournal() bool { return r.exists("run/systemd/journal/socket") }
