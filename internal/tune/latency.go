// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/pmqos"
)

// needsHaltPoll reports whether the parameter HaltPoll is there and counts, and the serving process
// cannot keep CPUs from halting by itself.
func needsHaltPoll(m host.Root) bool {
	if _, err := HaltPoll.Read(m); err != nil {
		return false
	}
	governor, err := m.Read("sys/devices/system/cpu/cpuidle/current_governor")
	return (err != nil || governor == "haltpoll") && pmqos.Available(m) != nil
}
