// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// machineMemory returns the size of the machine's memory in bytes, or 0 when it cannot be read.
func machineMemory() uint64 {
	n, err := host.Local.MemTotal()
	if err != nil {
		return 0
	}
	return n
}

// ProcessName is the name that ps and /proc/PID/comm show of a serving process.
const ProcessName = "zramfs"

// takeName sets it: a process that was started as /proc/self/exe is called "exe". It is cosmetic
// but for commands that want to know whether a PID still is that of a serving process.
func takeName() {
	_ = os.WriteFile("/proc/self/comm", []byte(ProcessName), 0) // nothing depends on it
}
