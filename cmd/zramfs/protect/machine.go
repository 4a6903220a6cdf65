// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// CheckTimeouts looks for FUSE request timeouts (Linux 6.15,
// Documentation/admin-guide/sysctl/fs.rst). After that time the kernel aborts the connection and
// the device is lost, although a machine that is short of memory may only be slow.
func CheckTimeouts(root host.Root) Protection {
	p := Protection{Name: NameTimeout, State: StateOK, Detail: "no FUSE request timeout is set", Essential: true}
	for _, name := range []string{"default_request_timeout", "max_request_timeout"} {
		value, err := root.Sysctl("fs.fuse." + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p.State, p.Detail = StateWarn, fmt.Sprintf("cannot tell whether a FUSE request timeout is set: %v", err)
			return p
		}
		if value != "0" {
			p.State = StateFail
			p.Detail = fmt.Sprintf("fs.fuse.%s is %s s: the kernel cuts the device off when a request takes longer; "+
				"set it to 0 (sysctl fs.fuse.%s=0)", name, value, name)
			return p
		}
	}
	return p
}

// CheckMachine returns the protections that depend on the machine alone, as a serving process would
// find them: the limits of the control groups, the FUSE request timeouts and the scheduling
// class. It changes nothing but the limits of this process. tasks is the number of threads of a device.
func CheckMachine(tasks int) []Protection {
	ram, err := host.Local.MemTotal()
	if err != nil {
		ram = 0 // unknown
	}
	return []Protection{CheckLimits(), foreseeGroup(host.Local, ram, tasks), CheckTimeouts(host.Local), CheckScheduling()}
}
