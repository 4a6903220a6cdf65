// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Where the kernel says whether FUSE over io_uring may be used.
const (
	uringParameter = "sys/module/fuse/parameters/enable_uring" // Linux 6.14, with CONFIG_FUSE_IO_URING
	uringDisabled  = "proc/sys/kernel/io_uring_disabled"       // Linux 6.6
)

// checkUring asks whether the transport io_uring can be had. Nothing depends on it: /dev/fuse
// serves in its place.
func checkUring(m machine) (finding, error) {
	release, major, minor, err := m.kernel()
	if err != nil {
		return finding{}, err
	}
	if major < 6 || major == 6 && minor < 14 {
		return warn("Linux "+release+" has no FUSE over io_uring: a page read takes longer", "use Linux 6.14 or later")
	}
	switch enabled, err := m.read(uringParameter); {
	case errors.Is(err, fs.ErrNotExist) && !m.exists(filepath.Dir(filepath.Dir(uringParameter))):
		return warn("the module fuse is not loaded: whether it has FUSE over io_uring cannot be seen", "modprobe fuse enable_uring=1")
	case errors.Is(err, fs.ErrNotExist):
		return warn("this kernel was built without FUSE over io_uring: a page read takes longer",
			"use a kernel with CONFIG_FUSE_IO_URING")
	case err != nil:
		return finding{}, err
	case enabled != "Y":
		return warn("FUSE over io_uring is switched off",
			"echo Y > /"+uringParameter+", before the device is mounted; for good: fuse.enable_uring=1 on the kernel's command line, "+
				`or "options fuse enable_uring=1" in /etc/modprobe.d/fuse.conf`)
	}
	return checkUringAllowed(m)
}

// checkUringAllowed looks at the kernel's switch against all use of io_uring
// (Documentation/admin-guide/sysctl/kernel.rst).
func checkUringAllowed(m machine) (finding, error) {
	level, err := m.read(uringDisabled)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return finding{}, err
	}
	privileged, err := m.hasCapability(capSysAdmin)
	switch {
	case err != nil:
		return finding{}, err
	case level == "2" || level == "1" && !privileged:
		return warn("kernel.io_uring_disabled is "+level+": io_uring is refused", "sysctl kernel.io_uring_disabled=0, or 1 and run as root")
	}
	return ok("FUSE over io_uring can be used (--transport uring)")
}

// checkGroup2 tells how the control group of this process protects a device that is started from
// it, on cgroup v2. What is locked needs neither setting; they matter where locking was refused and
// the device was forced.
func checkGroup2(m machine) (finding, error) {
	h, err := memoryHierarchy(m)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return finding{}, err
	}
	if h.limitFile != limitFile2 {
		if h.top != "" {
			return ok("memory is counted by cgroup v1")
		}
		return ok("no memory controller of cgroup v2")
	}
	dir, err := ownGroup2(m, h.top)
	if err != nil {
		return finding{}, err
	}
	swap, err := m.read(filepath.Join(dir, "memory.swap.max"))
	if errors.Is(err, fs.ErrNotExist) {
		return ok("%s has no memory.swap.max to set", dir)
	}
	if err != nil {
		return finding{}, err
	}
	reserved, err := m.read(filepath.Join(dir, "memory.min"))
	if err != nil {
		return finding{}, err
	}
	if swap == "0" && reserved != "0" {
		return ok("%s is kept out of swap and in memory (memory.swap.max 0, memory.min %s)", dir, reserved)
	}
	return ok("%s has memory.swap.max %s, memory.min %s: locked memory needs neither; a device that is alone in its "+
		"group, as in a service, sets 0 and max", dir, swap, reserved)
}

// ownGroup2 is where the group of this process lies in the hierarchy mounted on top; a path that is
// not below what is mounted leaves the top.
func ownGroup2(m machine, top string) (string, error) {
	text, err := m.read("proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			if dir := filepath.Join(top, path); m.exists(dir) {
				return dir, nil
			}
			return top, nil
		}
	}
	return "", fmt.Errorf("read proc/self/cgroup: no group of version 2 in it")
}
