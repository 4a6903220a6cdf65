// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

// A check is a question to the machine.
type check struct {
	name string
	run  func(Machine) (Finding, error)
}

// findings runs every check, in the order in which up would meet the trouble.
func (m Machine) findings() []Finding {
	checks := []check{
		{"proc", checkProc},
		{"sys", checkSys},
		{"kernel", checkKernel},
		{"kernel-zram", checkKernelZram},
		{"fuse", checkFuse},
		{"loop", checkLoop},
		{"user-namespace", checkUserNamespace},
		{"cap-sys-admin", checkSysAdmin},
		{"cap-ipc-lock", checkIPCLock},
		{"cap-sys-resource", checkSysResource},
		{"cap-sys-nice", checkSysNice},
		{"memlock-limit", checkLockLimit},
		{"noswap", checkNoswap},
		{"other-swap", checkOtherSwap},
		{"zswap", checkZswap},
		{"log", checkLog},
		{"latency", checkLatency},
		{"kernel-parameters", checkParameters},
		{"free-memory", checkFreeMemory},
		{"cgroup-v2", checkGroup2},
		{"kubelet", checkKubelet},
		{"instruction-sets", checkInstructions},
		{"codecs", checkCodecs},
	}
	for _, k := range m.Engines {
		if k.Check != nil {
			checks = append(checks, check{k.Name, func(Machine) (Finding, error) { return checkEngines(k) }})
		}
	}
	findings := m.run(checks)
	for _, p := range m.protections() {
		// The detail of a protection ends with its fix.
		findings = append(findings, Finding{Name: p.Name, State: p.State, Detail: p.Detail})
	}
	return findings
}

// run makes checks in their order.
func (m Machine) run(checks []check) (findings []Finding) {
	for _, check := range checks {
		f, err := check.run(m)
		if err != nil {
			f = Finding{State: status.Warn, Detail: fmt.Sprintf("cannot tell: %v", err)}
		}
		f.Name = check.name
		findings = append(findings, f)
	}
	return findings
}

// checkEngines describes a kind of engine. A missing engine costs only speed.
func checkEngines(k imageio.Kind) (Finding, error) {
	detail, usable, err := k.Check()
	if err != nil || usable {
		return Finding{State: status.OK, Detail: detail}, err
	}
	return warn(detail, "")
}

// ok, warn and fail are the outcomes of a check that could be made.
func ok(format string, args ...any) (Finding, error) {
	return Finding{State: status.OK, Detail: fmt.Sprintf(format, args...)}, nil
}

func warn(detail, fix string) (Finding, error) {
	return Finding{State: status.Warn, Detail: detail, Fix: fix}, nil
}

func fail(detail, fix string) (Finding, error) {
	return Finding{State: status.Fail, Detail: detail, Fix: fix}, nil
}

// checkKernel names the oldest kernel that can work (4.4 brought MCL_ONFAULT and direct I/O of
// loop) and the one from which nothing is missing (6.4: noswap; 6.2: parallel direct writes; 5.8:
// LOOP_CONFIGURE; 5.6: IO_FLUSHER).
func checkKernel(m Machine) (Finding, error) {
	release, major, minor, err := m.KernelRelease()
	switch {
	case err != nil:
		return Finding{}, err
	case major < 4 || major == 4 && minor < 4:
		return fail("Linux "+release+" can neither lock memory on fault nor bypass its cache on loop", "use Linux 6.4 or later")
	case major < 5 || major == 5 && minor < 6:
		return warn("Linux "+release+" has no IO_FLUSHER, LOOP_CONFIGURE, parallel direct writes and noswap",
			"use Linux 6.4 or later")
	case major < 6 || major == 6 && minor < 4:
		return warn("Linux "+release+" lacks noswap, and before 6.2 parallel direct writes", "use Linux 6.4 or later")
	}
	return ok("Linux %s has all that is used", release)
}

func checkFuse(m Machine) (Finding, error) {
	return checkDevice(m, "dev/fuse", "fuse")
}

func checkLoop(m Machine) (Finding, error) {
	return checkDevice(m, "dev/loop-control", "loop")
}

// checkDevice opens a device node that a kernel module provides.
func checkDevice(m Machine, path, module string) (Finding, error) {
	err := m.TryOpen(path, os.O_RDWR)
	name := "/" + path
	switch {
	case err == nil:
		return ok("%s can be opened", name)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return fail(name+" is missing", "modprobe "+module+"; in a container pass the device in (--device "+name+")")
	case errors.Is(err, syscall.EPERM):
		return fail(name+" is denied by the device control group", "run the container privileged, or with --device "+name)
	case errors.Is(err, fs.ErrPermission):
		return fail(name+" may not be opened by this user", "run as root (sudo)")
	}
	return fail(fmt.Sprintf("%s cannot be opened: %v", name, err), "modprobe "+module)
}

func checkUserNamespace(m Machine) (Finding, error) {
	first, err := m.InFirstUserNamespace()
	if err != nil {
		return Finding{}, err
	}
	if !first {
		return fail("this is a user namespace: zramfs mount works in it, but neither loop devices nor swap do",
			"run outside of it, as root of the machine")
	}
	return ok("loop and swap are not barred by a user namespace")
}

func checkSysAdmin(m Machine) (Finding, error) {
	return checkCapability(m, host.CapSysAdmin, "CAP_SYS_ADMIN", "mount, loop and swapon are allowed",
		status.Fail, "mount, loop and swapon are not allowed")
}

func checkSysResource(m Machine) (Finding, error) {
	return checkCapability(m, host.CapSysResource, "CAP_SYS_RESOURCE", "IO_FLUSHER and a lower OOM score are allowed",
		status.Warn, "the OOM killer may kill zramfs, which would lose swapped pages, and taking memory may wait for write-back")
}

func checkSysNice(m Machine) (Finding, error) {
	return checkCapability(m, host.CapSysNice, "CAP_SYS_NICE", "real-time scheduling is allowed",
		status.Warn, "threads cannot be given real-time scheduling, with which they get at the kernel's memory reserves")
}

// checkIPCLock matters only if locking memory needs the capability.
func checkIPCLock(m Machine) (Finding, error) {
	limit, err := m.LockLimit()
	if err != nil {
		return Finding{}, err
	}
	missing := status.Fail
	detail := "memory cannot be locked beyond RLIMIT_MEMLOCK"
	if limit == host.Unlimited {
		missing, detail = status.OK, "not needed: RLIMIT_MEMLOCK is unlimited"
	}
	return checkCapability(m, host.CapIPCLock, "CAP_IPC_LOCK", "memory can be locked without limit", missing, detail)
}

func checkCapability(m Machine, capability host.Capability, name, granted string, missing status.State, without string) (Finding, error) {
	has, err := m.HasCapability(capability)
	if err != nil {
		return Finding{}, err
	}
	if has {
		return ok("%s", granted)
	}
	f := Finding{State: missing, Detail: without}
	if missing != status.OK {
		f.Fix = "run as root (sudo)"
		if uid, err := m.RealUser(); err == nil && uid == 0 {
			f.Fix = "root lacks it here: give the container or the service the capability " + name
		}
	}
	return f, nil
}

func checkLockLimit(m Machine) (Finding, error) {
	limit, err := m.LockLimit()
	if err != nil {
		return Finding{}, err
	}
	has, err := m.HasCapability(host.CapIPCLock)
	switch {
	case err != nil:
		return Finding{}, err
	case limit == host.Unlimited:
		return ok("RLIMIT_MEMLOCK is unlimited")
	}
	if n, err := strconv.ParseUint(limit, 10, 64); err == nil {
		limit = term.Size(n)
	}
	if has {
		return ok("RLIMIT_MEMLOCK is %s, and CAP_IPC_LOCK lifts it", limit)
	}
	return fail("RLIMIT_MEMLOCK is "+limit+", too little to lock a device's memory",
		"run as root, or raise it (LimitMEMLOCK=infinity, ulimit -l unlimited)")
}
