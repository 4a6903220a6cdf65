// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"os"
	"strings"
)

const statusPath = "/proc/self/status"

// procField returns the value of one field of a file of "Name: value" lines, such as
// /proc/self/status and /proc/meminfo, or "unknown".
func procField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// machineMemory returns the size of the machine's memory in bytes, or 0 when it cannot be read.
func machineMemory() uint64 {
	var kib uint64
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%d kB", &kib); err != nil {
		return 0
	}
	return kib << 10
}

// ProcessName is the name that ps and /proc/PID/comm show of a serving process.
const ProcessName = "zramfs"

// takeName sets it: a process that was started as /proc/self/exe is called "exe". It is cosmetic
// but for commands that want to know whether a PID still is that of a serving process.
func takeName() {
	_ = os.WriteFile("/proc/self/comm", []byte(ProcessName), 0) // nothing depends on it
}
