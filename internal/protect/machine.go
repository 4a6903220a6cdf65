// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// CheckTimeouts looks for FUSE request timeouts (Linux 6.15,
// Documentation/admin-guide/sysctl/fs.rst). After that time the kernel aborts the connection and
// the device is lost, although a machine that is short of memory may only be slow.
func CheckTimeouts(root host.Root) status.Protection {
	p := status.Protection{Name: status.NameTimeout, State: status.OK, Detail: "no FUSE request timeout is set", Essential: true}
	for _, name := range []string{"default_request_timeout", "max_request_timeout"} {
		value, err := root.Sysctl("fs.fuse." + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p.State, p.Detail = status.Warn, fmt.Sprintf("cannot tell whether a FUSE request timeout is set: %v", err)
			return p
		}
		if value != "0" {
			p.State = status.Fail
			p.Detail = fmt.Sprintf("fs.fuse.%s is %s s: the kernel cuts the device off when a request takes longer; "+
				"set it to 0 (sysctl fs.fuse.%s=0)", name, value, name)
			return p
		}
	}
	return p
}

// CheckPIDNamespace finds out whether the kernel ends the process with a PID namespace, as that of
// a container.
func CheckPIDNamespace(root host.Root) status.Protection {
	p := status.Protection{Name: status.NamePIDNamespace, State: status.OK, Detail: "the processes do not end with a container", Essential: true}
	switch first, err := root.InFirstPIDNamespace(); {
	case err != nil:
		p.State, p.Detail = status.Warn, fmt.Sprintf("cannot tell whether this is a PID namespace of its own: %v", err)
	case !first:
		p.State = status.Fail
		p.Detail = "this is a PID namespace, as of a container: when it ends, the kernel kills zramfs, and swapped pages are lost; " +
			"run zramfs on the machine itself, outside of the container"
	}
	return p
}

// CheckView finds out whether the processes of the machine see what this one mounts. It is for the
// command that starts a device.
func CheckView(root host.Root) status.Protection {
	p := status.Protection{Name: status.NameView, State: status.OK, Detail: "the whole machine sees what a device mounts"}
	switch first, err := root.InFirstMountNamespace(); {
	case err != nil:
		p.State, p.Detail = status.Warn, fmt.Sprintf("cannot tell whether this is a mount namespace of its own: %v", err)
	case !first:
		p.State = status.Warn
		p.Detail = "this is a mount namespace of its own, as of a container or a unit with PrivateMounts: the files of the device " +
			"cannot be seen outside of it; run zramfs outside"
	}
	return p
}

// CheckMachine returns the protections that depend on the machine and on what started this process,
// as a serving process with this number of threads would find them. It changes nothing but the
// limits of this process.
func CheckMachine(tasks int) []status.Protection {
	ram, err := host.Local.MemTotal()
	if err != nil {
		ram = 0 // unknown
	}
	return []status.Protection{
		CheckPIDNamespace(host.Local), CheckView(host.Local), CheckLimits(), foreseeGroup(host.Local, ram, tasks),
		CheckTimeouts(host.Local), CheckScheduling(),
	}
}
