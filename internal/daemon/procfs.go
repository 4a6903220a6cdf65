// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// machineMemory returns the size of the machine's memory in bytes, or 0 when it cannot be read.
func machineMemory() uint64 {
	n, err := host.Local.MemTotal()
	if err != nil {
		return 0
	}
	return n
}

// takeName sets the name that commands know. A process that was started as /proc/self/exe is called
// "exe" before. Commands recognise a serving process by its name.
func takeName() {
	_ = os.WriteFile("/proc/self/comm", []byte(status.ServerName), 0) // commands then show less
}
