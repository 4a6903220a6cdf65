// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
)

// The command line of the process that makes the kernel free slots; see package slots.
const (
	SlotsCommand    = "slots"  // the command, which only up uses
	SlotsPolicyFlag = "slots"  // its flag for the policy
	SlotsKeeperFlag = "keeper" // its flag for the process to end with
)

// startSlots starts the process that makes the kernel free slots of these areas, and adds it to the
// record. It ends with the keeper, a PID of this namespace.
func startSlots(m host.Root, rec *devices.Record, policy slots.Policy, keeper int, areas []string) error {
	pid, err := launchSlots(append([]string{SlotsCommand, fmt.Sprintf("--%s=%s", SlotsPolicyFlag, policy),
		fmt.Sprintf("--%s=%d", SlotsKeeperFlag, keeper)}, areas...))
	if err != nil {
		return err
	}
	rec.Slots = &devices.NotedSlots{Policy: policy, PID: pid}
	if p, ok := host.Local.Process(pid); ok {
		rec.Slots.Started = p.Start
	}
	defer devices.LockRecords(m)()
	return rec.Write(m)
}

// ReviveSlots restarts the ended process of d, for example after the OOM killer.
func ReviveSlots(d devices.Device) error {
	if p := d.FindSlots(); p.Policy == "" || p.Policy == slots.Keep || p.PID != 0 || len(d.Swaps) == 0 || d.Keeper == 0 {
		return nil
	}
	return startSlots(host.Local, d.Record, d.Record.Slots.Policy, d.Keeper, devices.LoopPaths(d.Loops))
}
