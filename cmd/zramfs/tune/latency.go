// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"os"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// needsHaltPoll reports whether the parameter HaltPoll is there and counts, and the serving process
// cannot keep CPUs from halting by itself.
func needsHaltPoll(m host.Root) bool {
	if _, err := HaltPoll.Read(m); err != nil {
		return false
	}
	governor, err := m.Read("sys/devices/system/cpu/cpuidle/current_governor")
	return (err != nil || governor == "haltpoll") && !canHoldLatency(m)
}

// canHoldLatency reports whether a process can ask for awake CPUs by the device of PM QoS. To open
// it and close it again asks for nothing.
func canHoldLatency(m host.Root) bool { return m.TryOpen("dev/cpu_dma_latency", os.O_WRONLY) == nil }
