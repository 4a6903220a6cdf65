// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// checkUring asks whether the transport io_uring can be had. Nothing depends on it: /dev/fuse
// serves in its place.
func checkUring(m Machine) (Finding, error) {
	release, major, minor, err := m.KernelRelease()
	if err != nil {
		return Finding{}, err
	}
	if major < 6 || major == 6 && minor < 14 {
		return warn("Linux "+release+" has no FUSE over io_uring: a page read takes longer", "use Linux 6.14 or later")
	}
	switch enabled, err := m.ModuleParameter("fuse", "enable_uring"); {
	case errors.Is(err, fs.ErrNotExist) && !m.ModuleLoaded("fuse"):
		return warn("the module fuse is not loaded: whether it has FUSE over io_uring cannot be seen", "modprobe fuse enable_uring=1")
	case errors.Is(err, fs.ErrNotExist):
		return warn("this kernel was built without FUSE over io_uring: a page read takes longer",
			"use a kernel with CONFIG_FUSE_IO_URING")
	case err != nil:
		return Finding{}, err
	case enabled != "Y":
		return warn("FUSE over io_uring is switched off",
			"echo Y > /sys/module/fuse/parameters/enable_uring, before the device is mounted; for good: fuse.enable_uring=1 on the kernel's command line, "+
				`or "options fuse enable_uring=1" in /etc/modprobe.d/fuse.conf`)
	}
	return checkUringAllowed(m)
}

// checkUringAllowed looks at the kernel's switch against all use of io_uring
// (Documentation/admin-guide/sysctl/kernel.rst).
func checkUringAllowed(m Machine) (Finding, error) {
	level, err := m.Sysctl("kernel.io_uring_disabled") // Linux 6.6
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Finding{}, err
	}
	privileged, err := m.HasCapability(host.CapSysAdmin)
	switch {
	case err != nil:
		return Finding{}, err
	case level == "2" || level == "1" && !privileged:
		return warn("kernel.io_uring_disabled is "+level+": io_uring is refused", "sysctl kernel.io_uring_disabled=0, or 1 and run as root")
	}
	return ok("FUSE over io_uring can be used (--transport uring)")
}

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
