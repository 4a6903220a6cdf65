// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"github.com/zramfs/zramfs/cmd/zramfs/awake"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// needsHaltPoll reports whether the parameter HaltPoll is there and counts, and the serving process
// cannot keep CPUs from halting by itself.
func needsHaltPoll(m host.Root) bool {
	if _, err := HaltPoll.Read(m); err != nil {
		return false
	}
	governor, err := m.Read("sys/devices/system/cpu/cpuidle/current_governor")
	return (err != nil || governor == "haltpoll") && awake.Available(m) != nil
}
